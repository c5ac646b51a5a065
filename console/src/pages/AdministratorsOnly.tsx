import type { ComponentType, JSX } from 'preact'
import { useRef } from 'preact/hooks'
import { t } from '../i18n/i18n.ts'
import { Page } from '../parts/Page.tsx'
import { Forbidden, NotYetKnown } from '../parts/states.tsx'
import { isAdministrator, who } from '../session.ts'

/** A page that asks nothing of the service for others, who would be refused. It protects nothing: the service does. */
export const administratorsOnly = <Properties extends object>(
  Inner: ComponentType<Properties>,
): ComponentType<Properties> =>
  function AdministratorsOnly(properties: Properties): JSX.Element {
    // When a session ends, what was typed stays for the next login.
    const was = useRef(false)
    if (isAdministrator.value || who.value.kind === 'eperson') was.current = isAdministrator.value
    if (was.current) return <Inner {...properties} />
    return (
      <Page title={t('nav.administration')}>
        {who.value.kind === 'unknown' ? <NotYetKnown /> : <Forbidden />}
      </Page>
    )
  }
