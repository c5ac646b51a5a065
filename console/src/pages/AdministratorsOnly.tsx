import type { ComponentType, JSX } from 'preact'
import { useRef } from 'preact/hooks'
import { t } from '../i18n/i18n.ts'
import { Page } from '../parts/Page.tsx'
import { Forbidden, NotYetKnown } from '../parts/states.tsx'
import { isAdministrator, who } from '../session.ts'

/**
 * Shows the page only to administrators, so that others cause no requests that would be refused. The service
 * does the protecting.
 */
export const administratorsOnly = <Properties extends object>(
  Inner: ComponentType<Properties>,
): ComponentType<Properties> =>
  function AdministratorsOnly(properties: Properties): JSX.Element {
    // The page stays when the session ends, so that its input is still there after the next login.
    const was = useRef(false)
    if (isAdministrator.value || who.value.kind === 'eperson') was.current = isAdministrator.value
    if (was.current) return <Inner {...properties} />
    return (
      <Page title={t('nav.administration')}>
        {who.value.kind === 'unknown' ? <NotYetKnown /> : <Forbidden />}
      </Page>
    )
  }
