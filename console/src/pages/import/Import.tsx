import { uploadInPieces } from '@carrel/client/uploads'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { service } from '../../api.ts'
import { isBuiltIn, loadEntities } from '../../entities.ts'
import { a } from '../../i18n/admin.ts'
import { formatBytes, t } from '../../i18n/i18n.ts'
import { Table2 } from '../../icons.ts'
import { useStopper } from '../../parts/abort.ts'
import { Confirm } from '../../parts/Confirm.tsx'
import { Button, LinkButton } from '../../parts/controls.tsx'
import { Drop } from '../../parts/Drop.tsx'
import { useWork } from '../../parts/load.ts'
import { Page } from '../../parts/Page.tsx'
import { ProblemNotice } from '../../parts/states.tsx'
import { href, query } from '../../router.ts'
import { adminPath, type Declared, loadDeclared } from '../entities-admin/declared.ts'
import { Follow } from '../processes/Follow.tsx'
import {
  beginImport,
  firstFields,
  guessKey,
  isName,
  nameFrom,
  sentRecipe,
  takesMuch,
  type Wanted,
} from './imports.ts'
import { KeptRecipe } from './KeptRecipe.tsx'
import { Look } from './Look.tsx'
import { LossInWords } from './LossInWords.tsx'
import { Options } from './Options.tsx'
import { pause, useChecks } from './use-checks.ts'
import './import.css'

interface Sent {
  readonly file: File
  readonly upload: string
}

const start: Wanted = { entity: '', mode: 'replace', read: '', recipe: {} }

/** Imports a file as records. The service previews it first, and nothing changes until the user confirms. */
function Import(): JSX.Element {
  const fixed = query.value.get('entity') ?? ''
  const [known, setKnown] = useState<Declared>()
  const [wanted, setWanted] = useState<Wanted>({ ...start, entity: fixed })
  const [sent, setSent] = useState<Sent>()
  const [sending, setSending] = useState<{ readonly file: File; readonly done: number }>()
  const [round, setRound] = useState(0)
  const [process, setProcess] = useState<{
    readonly id: string
    readonly state: 'begun' | 'done' | 'failed'
  }>()
  const [asking, setAsking] = useState(false)
  const stopper = useStopper()

  /** Looks up the entity, if it exists. */
  const find = async (name: string) => {
    const isThere = isName(name) && (await loadEntities()).some(one => one.name === name)
    const found = isThere ? (await loadDeclared(name)).entity : undefined
    setKnown(found)
    return found
  }
  useEffect(() => {
    const timer = setTimeout(
      () => find(wanted.entity).catch(() => {}),
      known?.name === wanted.entity ? 0 : pause,
    )
    return () => clearTimeout(timer)
  }, [wanted.entity])

  const fault = faultIn(wanted.entity, known)
  const isKnown = known !== undefined && known.name === wanted.entity
  /** The inputs of a preview. Neither the readers nor the name of a new collection is one. */
  const asked = JSON.stringify([sent?.upload, wanted.mode, sentRecipe(wanted), isKnown && known.name, round])
  const { seen, problem, forget } = useChecks(wanted, sent?.upload, asked, fault === undefined)

  const chosen = useRef<File | undefined>(undefined)
  const take = useWork(async () => {
    const file = chosen.current
    if (!file) return
    const signal = stopper.begin()
    forget()
    setSent(undefined)
    setProcess(undefined)
    setSending({ file, done: 0 })
    try {
      const name = wanted.entity || nameFrom(file.name)
      const found = known?.name === name ? known : await find(name)
      const kept = found?.recipe ?? {}
      const key = found ? [found.key].flat() : guessKey(await firstFields(file))
      setWanted({ ...wanted, entity: name, recipe: { ...kept, ...(key.length > 0 && { key: [...key] }) } })
      const upload = await uploadInPieces(service.value, file, {
        signal,
        onProgress: ({ done }) => setSending({ file, done }),
      })
      setSent({ file, upload })
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      setSending(undefined)
    }
  })
  const beginNow = async (replace: boolean) => {
    if (!sent) return
    const { processId } = await beginImport(wanted, sent.upload, replace)
    setProcess({ id: processId, state: 'begun' })
  }
  const begin = useWork(() => beginNow(false))
  const restart = () => {
    setSent(undefined)
    forget()
    setProcess(undefined)
    setKnown(undefined)
    setWanted({ ...start, entity: fixed })
    if (fixed !== '') find(fixed).catch(() => {})
  }

  const isSeen = seen?.of === asked
  const isFaulty = (seen?.preview.faults.length ?? 0) > 0
  const isReady = isSeen && !isFaulty && fault === undefined
  const isMuch = isSeen && takesMuch(seen.preview, known?.records ?? 0)
  return (
    <Page
      title={
        process && process.state !== 'begun'
          ? a(`import.title.${process.state}`, { name: wanted.entity })
          : process || fixed !== ''
            ? a('import.title.of', { name: wanted.entity })
            : a('import.title')
      }
      crumbs={[
        [a('entities.title'), href('admin/entities')],
        ...(fixed === '' ? [] : [[fixed, href(adminPath(fixed))] as const]),
      ]}
      lead={a('import.lead')}
    >
      {process ? (
        <>
          <Follow
            key={process.id}
            id={process.id}
            onEnd={({ state }) => {
              setProcess({ ...process, state: state === 'completed' ? 'done' : 'failed' })
              loadEntities().catch(() => {})
            }}
          />
          {process.state !== 'begun' && (
            <div class="row">
              <LinkButton
                look="primary"
                icon={Table2}
                label={a('import.show', { name: wanted.entity })}
                href={href(`entities/${encodeURIComponent(wanted.entity)}`)}
              />
              {isKnown && <LinkButton label={a('import.versions')} href={href(adminPath(wanted.entity))} />}
              <Button label={a('import.another')} onClick={restart} />
            </div>
          )}
        </>
      ) : (
        <>
          {!sending && (
            <Drop
              label={sent ? a('import.drop.other') : a('import.drop')}
              hint={sent ? `${sent.file.name}, ${formatBytes(sent.file.size)}` : a('import.drop.hint')}
              accept=".csv,.json,.ndjson,.jsonl,.gz,text/csv,application/json"
              onFiles={([file]) => {
                chosen.current = file
                take.run()
              }}
            />
          )}
          {sending && <Sending {...sending} onStop={stopper.stop} />}
          <ProblemNotice problem={take.problem} />
          {sent && !sending && (
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
              <div class="act-bar">
                <ProblemNotice problem={problem ?? begin.problem} />
                <div class="row">
                  <button
                    type="button"
                    class={`button ${wanted.mode === 'delete' || isMuch ? 'danger' : isReady ? 'primary' : ''}`}
                    aria-disabled={!isReady}
                    aria-busy={begin.busy}
                    onClick={() => {
                      if (!isReady) return
                      if (isMuch) setAsking(true)
                      else begin.run()
                    }}
                  >
                    {a(`import.do.${wanted.mode}`, { name: wanted.entity })}
                  </button>
                  {problem !== undefined && (
                    <Button label={a('import.look')} onClick={() => setRound(round + 1)} />
                  )}
                  <span class="soft" role="status">
                    {fault ??
                      (isSeen
                        ? isFaulty
                          ? a('import.has-faults')
                          : a('import.records', { n: seen.preview.records })
                        : problem === undefined && a('import.looking'))}
                  </span>
                </div>
              </div>
              {asking && seen && (
                <Confirm
                  title={a(`import.ask.${wanted.mode}`, { name: wanted.entity })}
                  act={a(`import.do.${wanted.mode}`, { name: wanted.entity })}
                  typed={{
                    label: a('confirm.typed', { word: wanted.entity }),
                    word: wanted.entity,
                  }}
                  onClose={() => setAsking(false)}
                  work={() => beginNow(true)}
                >
                  <LossInWords preview={seen.preview} />
                  <p>{a('import.ask.help')}</p>
                </Confirm>
              )}
            </>
          )}
        </>
      )}
    </Page>
  )
}

/** Says what is wrong with a name. @param known the entity that was found last */
function faultIn(name: string, known: Declared | undefined): string | undefined {
  if (!isName(name)) return a('import.entity.bad')
  if (isBuiltIn(name)) return a('import.entity.built-in', { name })
  return known?.name === name && known.source === 'exposed' ? a('import.entity.table', { name }) : undefined
}

function Sending({
  file,
  done,
  onStop,
}: {
  readonly file: File
  readonly done: number
  readonly onStop: () => void
}): JSX.Element {
  const isChecking = done >= file.size
  return (
    <div class="sending" role="status">
      <p>
        <bdi>{file.name}</bdi>{' '}
        <span class="soft number">
          {isChecking ? a('import.checking') : `${formatBytes(done)} / ${formatBytes(file.size)}`}
        </span>
      </p>
      <progress
        aria-label={a('import.sending', { name: file.name })}
        {...(isChecking ? {} : { value: done, max: Math.max(1, file.size) })}
      />
      <Button label={t('cancel')} onClick={onStop} />
    </div>
  )
}

export default Import
