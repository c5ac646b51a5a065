import type { ComponentChildren, JSX } from 'preact'
import { a } from '../../i18n/admin.ts'
import { Page } from '../../parts/Page.tsx'
import { Tabs } from '../../parts/Tabs.tsx'
import { href } from '../../router.ts'
import './system.css'

/** The frame of the pages about the service itself. */
export const SystemPage = ({
  title,
  lead,
  actions,
  children,
}: {
  readonly title: string
  readonly lead: string
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}): JSX.Element => (
  <Page
    title={title}
    {...(title === a('system.title') ? {} : { crumbs: [[a('system.title'), href('admin/system')]] })}
    lead={lead}
    actions={actions}
  >
    <Tabs
      label={a('system.pages')}
      pages={[
        ['admin/system', a('doctor.tab')],
        ['admin/system/figures', a('figures.tab')],
        ['admin/system/sign-on', a('sign-on.tab')],
        ['admin/system/logins', a('logins.tab')],
        ['admin/system/backups', a('backups.tab')],
        ['admin/system/alert', a('alert.tab')],
      ]}
    />
    {children}
  </Page>
)
