import type { ComponentType, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { t } from '../i18n/i18n.ts'
import { RotateCw } from '../icons.ts'
import { Button } from './controls.tsx'
import { Loading, Offline, State } from './states.tsx'

/** Loads a page or a part when it is shown for the first time. */
export type Load<Properties> = () => Promise<ComponentType<Properties>>

/** Time in ms before a failed load is tried again. */
const pause = 1_000

const reload = () => location.reload()

const loaded = new Map<Load<never>, ComponentType<never>>()

/** @param load must be the same function each time, because it identifies the component */
export function Lazy<Properties extends object>({
  load,
  with: properties,
}: {
  readonly load: Load<Properties>
  readonly with: Properties
}): JSX.Element {
  const [failed, setFailed] = useState(false)
  const [, show] = useState(0)
  const Known = loaded.get(load as Load<never>) as ComponentType<Properties> | undefined
  useEffect(() => {
    if (Known) return
    let gone = false
    // A second attempt, because the connection may have been lost for a moment.
    const again = () => new Promise(resolve => setTimeout(resolve, pause)).then(load)
    load()
      .catch(again)
      .then(
        component => {
          loaded.set(load as Load<never>, component as ComponentType<never>)
          if (!gone) show(one => one + 1)
        },
        () => gone || setFailed(true),
      )
    return () => {
      gone = true
    }
  }, [load])
  if (Known) return <Known {...properties} />
  if (!failed) return <Loading />
  // The service may have been updated and the old files be gone, or there is no connection. Reloading helps
  // in both cases.
  if (!navigator.onLine) return <Offline retry={reload} />
  return (
    <State icon={RotateCw} tone="warn" title={t('reload')} help={t('reload.help')}>
      <Button look="primary" icon={RotateCw} label={t('reload.do')} onClick={reload} />
    </State>
  )
}
