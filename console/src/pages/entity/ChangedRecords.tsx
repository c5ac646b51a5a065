import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { CarrelProblem, service } from '../../api.ts'
import { type DataRecord, type Entity, joinedKey } from '../../entities.ts'
import { printExactly } from '../../exact.ts'
import { t } from '../../i18n/i18n.ts'
import { Button } from '../../parts/controls.tsx'
import { writtenSince } from '../../records/writing.ts'

/** Maximum number of records that are counted. */
const most = 1_000

/**
 * Records that have changed, by their names; undefined for those that were deleted. `many`: too many to count, or so
 * long ago that it isn't known.
 */
type Changed = ReadonlyMap<string, DataRecord | undefined> | 'many'

interface Parts {
  readonly entity: Entity
  readonly snapshot: string
  readonly since: number
  readonly onShow: () => void
}

/**
 * Says how many records have changed since the table was loaded, and shows them when asked to. The table holds
 * still until then.
 * @param snapshot the state that the table shows
 * @param since the number of writes in this tab when it was asked for
 */
export function ChangedRecords({ entity, snapshot, since, onShow }: Parts): JSX.Element {
  const changed = useChanged(entity, snapshot)
  const count = changed === 'many' ? most : [...changed].filter(one => isOther(one, since)).length
  return (
    <div class="changed-records" role="status">
      {count > 0 && (
        <>
          {changed === 'many' ? t('changed.many') : t('changed.count', { n: count })}{' '}
          <Button look="link" label={t('changed.show', { n: count })} onClick={onShow} />
        </>
      )}
    </div>
  )
}

/** False for a change that was made in this tab, which the table shows already. */
function isOther([name, record]: readonly [string, DataRecord | undefined], since: number): boolean {
  const own = writtenSince(since, name)
  return !own || !record || printExactly(own) !== printExactly(record)
}

/** Follows the changes since a snapshot, while the page can be seen. */
function useChanged(entity: Entity, snapshot: string): Changed {
  const [found, setFound] = useState<{ readonly since: string; readonly changed: Changed }>()
  useEffect(() => {
    const all = new Map<string, DataRecord | undefined>()
    let since = snapshot
    let controller: AbortController | undefined
    const show = (changed: Changed) => setFound({ since: snapshot, changed })
    const follow = async (signal: AbortSignal) => {
      try {
        for await (const change of service.value.entity(entity.name).changes({ since, signal })) {
          since = change.snapshot ?? since
          const name = `${entity.name}/${joinedKey([change.key].flat().map(String))}`
          all.set(name, change.change === 'deleted' ? undefined : (change.record as DataRecord))
          if (all.size >= most) break
          show(new Map(all))
        }
        show('many')
      } catch (error) {
        // Otherwise, the table is one that isn't followed.
        if (error instanceof CarrelProblem && error.status === 410) show('many')
      }
    }
    const look = () => {
      controller?.abort()
      controller = undefined
      if (document.visibilityState === 'hidden' || all.size >= most) return
      controller = new AbortController()
      void follow(controller.signal)
    }
    look()
    document.addEventListener('visibilitychange', look)
    return () => {
      document.removeEventListener('visibilitychange', look)
      controller?.abort()
    }
  }, [entity.name, snapshot, service.value])
  return found?.since === snapshot ? found.changed : new Map()
}
