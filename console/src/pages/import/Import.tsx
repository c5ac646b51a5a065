import type { Process } from '@carrel/client/processes'
import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { adminPath, type Declared } from '../../administration/declared.ts'
import { Follow } from '../../administration/Follow.tsx'
import { Sending, type Transfer, useTransfer } from '../../administration/transfer.tsx'
import { isBuiltIn, loadEntities } from '../../entities.ts'
import { a } from '../../i18n/admin.ts'
import { formatBytes } from '../../i18n/i18n.ts'
import { Table2 } from '../../icons.ts'
import { Confirm } from '../../parts/Confirm.tsx'
import { Button, LinkButton } from '../../parts/controls.tsx'
import { Drop } from '../../parts/Drop.tsx'
import { useWork, type Work } from '../../parts/load.ts'
import { Page } from '../../parts/Page.tsx'
import { ProblemNotice } from '../../parts/states.tsx'
import { href, query } from '../../router.ts'
import {
  beginImport,
  firstFields,
  guessKey,
  isName,
  nameFrom,
  type Preview,
  sentRecipe,
  takesMuch,
  type Wanted,
} from './imports.ts'
import { KeptRecipe } from './KeptRecipe.tsx'
import { Look } from './Look.tsx'
import { LossInWords } from './LossInWords.tsx'
import { Options } from './Options.tsx'
import { useChecks, useKnown } from './use-checks.ts'
import './import.css'

const start: Wanted = { entity: '', mode: 'replace', read: '', recipe: {} }

/** Imports a file as records. The service previews it first, and nothing changes until the user confirms. */
export default function Import(): JSX.Element {
  const fixed = query.value.get('entity') ?? ''
  const [wanted, setWanted] = useState<Wanted>({ ...start, entity: fixed })
  const { known, find, forget: forgetKnown } = useKnown(wanted.entity)
  const { transfer, set, send, stop } = useTransfer()
  const [round, setRound] = useState(0)

  const fault = faultIn(wanted.entity, known)
  const isKnown = known !== undefined && known.name === wanted.entity
  const upload = 'upload' in transfer ? transfer.upload : undefined
  /** The inputs of a preview. Neither the readers nor the name of a new collection is one. */
  const asked = JSON.stringify([upload, wanted.mode, sentRecipe(wanted), isKnown && known.name, round])
  const { seen, problem, forget } = useChecks(wanted, upload, asked, fault === undefined)
  const isSeen = seen?.of === asked

  const chosen = useRef<File | undefined>(undefined)
  const take = useWork(async () => {
    const file = chosen.current
    if (!file) return
    forget()
    await send(file, async () => {
      const name = wanted.entity || nameFrom(file.name)
      const found = known?.name === name ? known : await find(name)
      const kept = found?.recipe ?? {}
      const key = found ? [found.key].flat() : guessKey(await firstFields(file))
      setWanted({ ...wanted, entity: name, recipe: { ...kept, ...(key.length > 0 && { key: [...key] }) } })
    })
  })
  const beginNow = async (replace: boolean) => {
    if (transfer.at !== 'sent') return
    const { processId } = await beginImport(wanted, transfer.upload, replace)
    set({ ...transfer, at: 'process', id: processId })
  }
  const begin = useWork(() => beginNow(false))
  const restart = () => {
    set({ at: 'start' })
    forget()
    forgetKnown()
    setWanted({ ...start, entity: fixed })
    if (fixed !== '') find(fixed).catch(() => {})
  }
  return (
    <Page
      title={titleOf(transfer, wanted.entity, fixed !== '')}
      crumbs={[
        [a('entities.title'), href('admin/entities')],
        ...(fixed === '' ? [] : [[fixed, href(adminPath(fixed))] as const]),
      ]}
      lead={a('import.lead')}
    >
      {transfer.at === 'process' ? (
        <Begun
          of={transfer}
          name={wanted.entity}
          isKnown={isKnown}
          onEnd={ended => set({ ...transfer, ended })}
          onRestart={restart}
        />
      ) : (
        <>
          {transfer.at === 'sending' ? (
            <Sending {...transfer} isChecked onStop={stop} />
          ) : (
            <Drop
              label={transfer.at === 'sent' ? a('import.drop.other') : a('import.drop')}
              hint={
                transfer.at === 'sent'
                  ? `${transfer.file.name}, ${formatBytes(transfer.file.size)}`
                  : a('import.drop.hint')
              }
              accept=".csv,.json,.ndjson,.jsonl,.gz,text/csv,application/json"
              onFiles={([file]) => {
                // While an import is begun, another file would take the place of its page.
                if (begin.busy) return
                chosen.current = file
                take.run()
              }}
            />
          )}
          <ProblemNotice problem={take.problem} />
          {transfer.at === 'sent' && (
            <>
              <Options
                wanted={wanted}
                known={isKnown ? known : undefined}
                fixed={fixed !== ''}
                fields={seen?.preview.fields.map(({ name }) => name) ?? []}
                fault={fault}
                onChange={setWanted}
              />
              {seen && <Look preview={seen.preview} wanted={wanted} isOld={!isSeen} onChange={setWanted} />}
              {wanted.mode === 'replace' && (
                <KeptRecipe
                  wanted={wanted}
                  isKept={isKnown && known.recipe !== undefined}
                  onChange={recipe => setWanted({ ...wanted, recipe })}
                />
              )}
              <Act
                wanted={wanted}
                records={known?.records ?? 0}
                preview={seen?.preview}
                isSeen={isSeen}
                fault={fault}
                problem={problem}
                begin={begin}
                onConfirm={() => beginNow(true)}
                onLook={() => setRound(round + 1)}
              />
            </>
          )}
        </>
      )}
    </Page>
  )
}

type Running = Extract<Transfer, { readonly at: 'process' }>

const isDone = ({ ended }: Running) => ended?.state === 'completed'

function titleOf(transfer: Transfer, name: string, isFixed: boolean): string {
  if (transfer.at === 'process' && transfer.ended)
    return a(`import.title.${isDone(transfer) ? 'done' : 'failed'}`, { name })
  return transfer.at === 'process' || isFixed ? a('import.title.of', { name }) : a('import.title')
}

interface BegunParts {
  readonly of: Running
  readonly name: string
  readonly isKnown: boolean
  readonly onEnd: (ended: Process) => void
  readonly onRestart: () => void
}

/** The process of an import, and ways on when it has ended. */
function Begun({ of, name, isKnown, onEnd, onRestart }: BegunParts): JSX.Element {
  return (
    <>
      <Follow
        key={of.id}
        id={of.id}
        onEnd={ended => {
          onEnd(ended)
          loadEntities().catch(() => {})
        }}
      />
      {of.ended && (
        <div class="row">
          <LinkButton
            look="primary"
            icon={Table2}
            label={a('import.show', { name })}
            to={`entities/${encodeURIComponent(name)}`}
          />
          {isKnown && <LinkButton label={a('import.versions')} to={adminPath(name)} />}
          <Button label={a('import.another')} onClick={onRestart} />
        </div>
      )}
    </>
  )
}

/** The button that imports, and why it can't yet. */
function Act({
  wanted,
  records,
  preview,
  isSeen,
  fault,
  problem,
  begin,
  onConfirm,
  onLook,
}: {
  readonly wanted: Wanted
  /** Number of records that the entity has. */
  readonly records: number
  readonly preview: Preview | undefined
  /** False if something was changed since the preview. */
  readonly isSeen: boolean
  readonly fault: string | undefined
  /** The reason why there is no preview. */
  readonly problem: unknown
  readonly begin: Work
  readonly onConfirm: () => Promise<void>
  readonly onLook: () => void
}): JSX.Element {
  const { entity: name, mode } = wanted
  const [asking, setAsking] = useState(false)
  const now = isSeen ? preview : undefined
  const isFaulty = (preview?.faults.length ?? 0) > 0
  const isReady = isSeen && !isFaulty && fault === undefined
  const isMuch = now !== undefined && takesMuch(now, records)
  return (
    <>
      <div class="act-bar">
        <ProblemNotice problem={problem ?? begin.problem} />
        <div class="row">
          <Button
            look={mode === 'delete' || isMuch ? 'danger' : isReady ? 'primary' : 'plain'}
            label={a(`import.do.${mode}`, { name })}
            aria-disabled={!isReady}
            aria-busy={begin.busy}
            onClick={() => {
              if (!isReady) return
              if (isMuch) setAsking(true)
              else begin.run()
            }}
          />
          {problem !== undefined && <Button label={a('import.look')} onClick={onLook} />}
          <span class="soft" role="status">
            {fault ??
              (now
                ? isFaulty
                  ? a('import.has-faults')
                  : a('import.records', { n: now.records })
                : problem === undefined && a('import.looking'))}
          </span>
        </div>
      </div>
      {asking && preview && (
        <Confirm
          title={a(`import.ask.${mode}`, { name })}
          act={a(`import.do.${mode}`, { name })}
          typed={{ label: a('confirm.typed', { word: name }), word: name }}
          onClose={() => setAsking(false)}
          work={onConfirm}
        >
          <LossInWords preview={preview} />
          <p>{a('import.ask.help')}</p>
        </Confirm>
      )}
    </>
  )
}

/** Says what is wrong with a name. @param known the entity that was found last */
function faultIn(name: string, known: Declared | undefined): string | undefined {
  if (!isName(name)) return a('import.entity.bad')
  if (isBuiltIn(name)) return a('import.entity.built-in', { name })
  return known?.name === name && known.source === 'exposed' ? a('import.entity.table', { name }) : undefined
}
