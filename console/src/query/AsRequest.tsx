import type { ComponentType, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { t } from '../i18n/i18n.ts'
import { SquareTerminal } from '../icons.ts'
import { Button } from '../parts/controls.tsx'
import { useWork } from '../parts/load.ts'
import type { Requested } from './request-texts.ts'

interface Shown {
  readonly Part: ComponentType<{ readonly requested: Requested; readonly onClose: () => void }>
  readonly requested: Requested
}

/** A button that shows what a page asks the service for, as a request for programs. */
export function AsRequest({ requested }: { readonly requested: () => Requested }): JSX.Element {
  const [shown, setShown] = useState<Shown>()
  // Without a connection, nothing opens.
  const { run } = useWork(async () => {
    const { default: Part } = await import('./RequestDialog.tsx')
    setShown({ Part, requested: requested() })
  })
  return (
    <>
      <Button icon={SquareTerminal} label={t('request')} onClick={run} />
      {shown && <shown.Part requested={shown.requested} onClose={() => setShown(undefined)} />}
    </>
  )
}
