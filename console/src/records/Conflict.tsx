import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { type DataRecord, type Entity, type EntityField, type Json, keyText } from '../entities.ts'
import { readExactly } from '../exact.ts'
import { formatMoment, t } from '../i18n/i18n.ts'
import { Button, Form, Submit } from '../parts/controls.tsx'
import { useLoad, useWork } from '../parts/load.ts'
import { Notice, ProblemNotice } from '../parts/states.tsx'
import { FieldName, Value } from '../parts/Value.tsx'
import { type Edits, isSame, jsonOf, type Kind } from './values.ts'
import { conflicts, loadHistory, type Stored } from './writing.ts'

interface Parts {
  readonly entity: Entity
  readonly edits: Edits
  readonly kinds: ReadonlyMap<string, Kind>
  /** The record as it was when typing began. */
  readonly before: DataRecord
  /** The record as another person has written it; undefined if it was deleted. */
  readonly now: Stored | undefined
  readonly save: (chosen: Edits) => Promise<void>
  readonly onCancel: () => void
}

interface Side {
  readonly name: string
  readonly field: EntityField
  readonly was: Json | undefined
  readonly mine: Json | undefined
  readonly theirs: Json | undefined
  readonly isMine: boolean
  readonly isTheirs: boolean
}

/** Shows side by side what was typed and what another person has written meanwhile, to choose field by field. */
export function Conflict({ entity, edits, kinds, before, now, save, onCancel }: Parts): JSX.Element {
  const sides = entity.fields
    .map((field): Side => {
      const { name } = field
      const was = before[name]
      const theirs = now ? now.record[name] : was
      const json = Object.hasOwn(edits, name)
        ? jsonOf(edits[name] ?? null, kinds.get(name) ?? 'text')
        : undefined
      const mine = typeof json === 'string' ? (readExactly(json) as Json) : was
      return { name, field, was, mine, theirs, isMine: !isSame(mine, was), isTheirs: !isSame(theirs, was) }
    })
    .filter(({ isMine, isTheirs }) => isMine || isTheirs)
  const [chosen, setChosen] = useState<Readonly<Record<string, 'mine' | 'theirs'>>>({})
  const sideOf = ({ name, isMine }: Side) => chosen[name] ?? (isMine ? 'mine' : 'theirs')
  const saving = useWork(() =>
    save(Object.fromEntries(Object.entries(edits).filter(([name]) => chosen[name] !== 'theirs'))),
  )
  return (
    <Form class="stack edit-form" onSubmit={saving.run}>
      <Notice tone="warn">
        {t(now ? 'conflict' : 'conflict.deleted')} <WhoWrote entity={entity} before={before} now={now} />
      </Notice>
      {now &&
        sides.map(side => (
          <fieldset key={side.name} class="conflict">
            <legend>
              <FieldName field={side.field} />
            </legend>
            <div>
              <span class="soft small">{t('conflict.was')}</span>
              <Value value={side.was} field={side.field} />
            </div>
            {(['mine', 'theirs'] as const).map(which => (
              <label key={which} class={sideOf(side) === which ? 'chosen' : ''}>
                <span class="check">
                  <input
                    type="radio"
                    name={side.name}
                    checked={sideOf(side) === which}
                    disabled={!side.isMine}
                    onChange={() => setChosen({ ...chosen, [side.name]: which })}
                  />
                  <span class="small">{t(which === 'mine' ? 'conflict.mine' : 'conflict.theirs')}</span>
                </span>
                <Value value={side[which]} field={side.field} plain />
              </label>
            ))}
          </fieldset>
        ))}
      <ProblemNotice problem={saving.problem} />
      <div class="edit-actions">
        <Submit label={t(now ? 'conflict.save' : 'conflict.add')} busy={saving.busy} />
        <Button label={t('conflict.leave')} onClick={onCancel} />
      </div>
    </Form>
  )
}

/** Says who has written the state that a change met, if it is the last change in the history of the record. */
function WhoWrote({ entity, before, now }: Pick<Parts, 'entity' | 'before' | 'now'>): JSX.Element | null {
  const { value, problem } = useLoad(
    async signal => {
      const [last] = await loadHistory(entity, keyText(entity, before), undefined, signal)
      conflicts.value++
      return last ?? null
    },
    [now],
  )
  if (value === undefined && problem === undefined) return null
  // Imports are in no history, and may have come after the last change that is.
  const { before: past, after } = value?.changes ?? {}
  const isIt = now
    ? after && Object.keys({ ...past, ...after }).every(name => isSame(after[name], now.record[name]))
    : after === null
  return (
    <span>
      {isIt && value?.by ? (
        <>
          {t('conflict.by')} <bdi>{value.by}</bdi>, {formatMoment(value.time)}
        </>
      ) : (
        t('conflict.unknown')
      )}
    </span>
  )
}
