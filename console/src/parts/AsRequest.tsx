import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { t } from '../i18n/i18n.ts'
import { SquareTerminal } from '../icons.ts'
import type { Requested } from '../pages/request/texts.ts'
import { Icon } from './Icon.tsx'
import { Lazy } from './Lazy.tsx'

const load = async () => (await import('../pages/request/RequestDialog.tsx')).default

/** A button that shows what a page asks the service for, as a request for programs. */
export function AsRequest({ requested }: { readonly requested: () => Requested }): JSX.Element {
  const [shown, setShown] = useState<Requested>()
  return (
    <>
      <button type="button" class="button" onClick={() => setShown(requested())}>
        <Icon of={SquareTerminal} />
        {t('request')}
      </button>
      {shown && <Lazy load={load} with={{ requested: shown, onClose: () => setShown(undefined) }} />}
    </>
  )
}
