import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { DataRecord } from '../../entities.ts'
import { a, aOf } from '../../i18n/admin.ts'
import { formatNumber, t } from '../../i18n/i18n.ts'
import { Trash2, Users } from '../../icons.ts'
import { Confirm } from '../../parts/Confirm.tsx'
import { Button, Select } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'
import { toast } from '../../parts/toast.tsx'
import type { Group } from '../../people/groups.ts'
import { addPolicy, deleteItem, deletePolicy, loadPolicies } from './items.ts'
import { anybody, ChosenGroup, loggedIn } from './Policies.tsx'

interface SeveralParts {
  readonly chosen: readonly DataRecord[]
  /** Called when something was done, with the items that failed. */
  readonly onDone: (failed: ReadonlySet<string>) => void
}

/** Actions on the chosen items of a page. */
export function Several({ chosen, onDone }: SeveralParts): JSX.Element | null {
  const [open, setOpen] = useState<'readers' | 'delete'>()
  if (chosen.length === 0) return null
  const n = chosen.length
  /** Goes through all items, one after the other, and remembers those that failed. */
  const forEach = async (work: (uuid: string) => Promise<unknown>, said: 'readers' | 'deleted') => {
    const failed = new Set<string>()
    let problem: unknown
    for (const { uuid } of chosen)
      try {
        await work(String(uuid))
      } catch (error) {
        failed.add(String(uuid))
        problem = error
      }
    if (failed.size === n) throw problem
    if (failed.size > 0) toast(a('several.failed', { n: failed.size, all: formatNumber(n) }), 'bad')
    else toast(a(`several.${said}`, { n }))
    onDone(failed)
  }
  return (
    <section class="several" aria-label={a('several.chosen', { n })}>
      <strong>{a('several.chosen', { n })}</strong>
      <Button icon={Users} label={a('several.read')} onClick={() => setOpen('readers')} />
      <Button look="danger" icon={Trash2} label={t('delete')} onClick={() => setOpen('delete')} />
      {open === 'readers' && (
        <Readers n={n} onClose={() => setOpen(undefined)} work={group => forEach(to(group), 'readers')} />
      )}
      {open === 'delete' && (
        <Confirm
          title={a('several.delete.title', { n })}
          act={t('delete')}
          typed={{ label: a('confirm.typed', { word: String(n) }), word: String(n) }}
          onClose={() => setOpen(undefined)}
          work={() => forEach(deleteItem, 'deleted')}
          help={a('several.delete.help')}
        />
      )}
    </section>
  )
}

/**
 * Opens an item to a group, or to administrators only, instead of its present readers. The new policy is added
 * first, so that a failure leaves no item without readers.
 */
const to = (group: string | undefined) => async (uuid: string) => {
  const known = await loadPolicies(uuid, new AbortController().signal)
  const reading = known.filter(({ action }) => action === 'READ')
  const isKept = (one: (typeof reading)[number]) =>
    one._embedded.group?.uuid === group && group !== undefined && !one.startDate && !one.endDate
  if (group !== undefined && !reading.some(isKept))
    await addPolicy(uuid, { group }, { action: 'READ', startDate: null, endDate: null })
  for (const one of reading) if (!isKept(one)) await deletePolicy(one.id)
}

interface Parts {
  readonly n: number
  readonly work: (group: string | undefined) => Promise<unknown>
  readonly onClose: () => void
}

function Readers({ n, work, onClose }: Parts): JSX.Element {
  const [who, setWho] = useState<'admin' | 'anybody' | 'logged-in' | 'group'>('anybody')
  const [group, setGroup] = useState<Group>()
  const uuids = { admin: undefined, anybody, 'logged-in': loggedIn, group: group?.uuid }
  return (
    <Confirm
      tone="primary"
      title={a('several.read')}
      act={a('several.read.do', { n })}
      onClose={onClose}
      work={async () => {
        if (who === 'group' && !group) throw new Error(a('several.read.group'))
        await work(uuids[who])
      }}
    >
      <p class="soft">{a('several.read.help')}</p>
      <Field label={a('policies.who')}>
        <Select
          value={who}
          onChoose={setWho}
          options={[
            ['anybody', aOf('role', 'anonymous')],
            ['logged-in', aOf('role', 'eperson')],
            ['group', a('rule.a-group')],
            ['admin', aOf('role', 'admin')],
          ]}
        />
      </Field>
      {who === 'group' && <ChosenGroup group={group} onChange={setGroup} />}
    </Confirm>
  )
}
