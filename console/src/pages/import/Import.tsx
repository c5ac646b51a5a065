import { uploadInPieces } from '@carrel/client/uploads'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { service } from '../../api.ts'
import { loadEntities } from '../../entities.ts'
import { a } from '../../i18n/admin.ts'
import { formatBytes, t } from '../../i18n/i18n.ts'
import { Table2 } from '../../icons.ts'
import { useStopper } from '../../parts/abort.ts'
import { Confirm } from '../../parts/Confirm.tsx'
import { Drop } from '../../parts/Drop.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { useWork } from '../../parts/load.ts'
import { Page } from '../../parts/Page.tsx'
import { ProblemNotice } from '../../parts/states.tsx'
import { href, query } from '../../router.ts'
import { adminPath, type Declared, loadDeclared } from '../entities-admin/declared.ts'
import { Follow } from '../processes/Follow.tsx'
import {
  asItLooks,
  beginImport,
  firstFields,
  guessKey,
  nameFrom,
  type Preview,
  preview,
  takesMuch,
  type Wanted,
} from './imports.ts'
import { Look } from './Look.tsx'
import { LossInWords } from './LossInWords.tsx'
import { Options } from './Options.tsx'
import './import.css'

interface Sent {
  readonly file: File
  readonly upload: string
}

const start: Wanted = { entity: '', mode: 'replace', key: [], types: {}, read: '', ...asItLooks }

/** Imports a file as records. The service previews it first, and nothing changes until the user confirms. */
function Import(): JSX.Element {
  const fixed = query.value.get('entity') ?? ''
  const [known, setKnown] = useState<Declared>()
  const [wanted, setWanted] = useState<Wanted>({ ...start, entity: fixed })
  const [sent, setSent] = useState<Sent>()
  const [sending, setSending] = useState<{ readonly file: File; readonly done: number }>()
  const [seen, setSeen] = useState<{ readonly of: string; readonly preview: Preview }>()
  const [process, setProcess] = useState<{ readonly id: string; readonly ended: boolean }>()
  const [asking, setAsking] = useState(false)
  const stopper = useStopper()

  /** Looks up the entity. If it exists, its key is used. */
  const find = async (name: string) => {
    const isThere = (await loadEntities()).some(one => one.name === name)
    const found = isThere ? (await loadDeclared(name)).entity : undefined
    setKnown(found)
    return found
  }
  useEffect(() => {
    if (fixed !== '') find(fixed).catch(() => {})
  }, [fixed])

  const look = async (asked: Wanted, upload: string, signal: AbortSignal) => {
    const found = await preview(asked, upload, signal)
    setSeen({ of: JSON.stringify(asked), preview: found })
  }
  const chosen = useRef<File | undefined>(undefined)
  const take = useWork(async () => {
    const file = chosen.current
    if (!file) return
    const signal = stopper.begin()
    setSeen(undefined)
    setProcess(undefined)
    setSending({ file, done: 0 })
    try {
      const name = wanted.entity || nameFrom(file.name)
      const found = known?.name === name ? known : await find(name)
      const key = found ? [found.key].flat() : guessKey(await firstFields(file))
      const asked = { ...wanted, ...asItLooks, entity: name, key, types: {} }
      setWanted(asked)
      const upload = await uploadInPieces(service.value, file, {
        signal,
        onProgress: ({ done }) => setSending({ file, done }),
      })
      setSent({ file, upload })
      await look(asked, upload, signal)
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      setSending(undefined)
    }
  })
  const again = useWork(async () => {
    if (!sent) return
    const signal = stopper.begin()
    await find(wanted.entity)
    await look(wanted, sent.upload, signal)
  })
  const beginNow = async (replace: boolean) => {
    if (!sent) return
    const { processId } = await beginImport(wanted, sent.upload, replace)
    setProcess({ id: processId, ended: false })
  }
  const begin = useWork(() => beginNow(false))
  const restart = () => {
    setSent(undefined)
    setSeen(undefined)
    setProcess(undefined)
    setWanted({ ...start, entity: fixed })
  }

  const isSeen = seen?.of === JSON.stringify(wanted)
  const isFaulty = (seen?.preview.faults.length ?? 0) > 0
  const isMuch = seen !== undefined && takesMuch(seen.preview, known?.records ?? 0)
  return (
    <Page
      title={fixed === '' ? a('import.title') : a('import.title.of', { name: fixed })}
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
            onEnd={() => {
              setProcess({ ...process, ended: true })
              loadEntities().catch(() => {})
            }}
          />
          {process.ended && (
            <div class="row">
              <a class="button primary" href={href(`entities/${encodeURIComponent(wanted.entity)}`)}>
                <Icon of={Table2} />
                {a('entity.show')}
              </a>
              <button type="button" class="button" onClick={restart}>
                {a('import.another')}
              </button>
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
                known={known}
                fixed={fixed !== ''}
                fields={seen?.preview.fields.map(({ name }) => name) ?? []}
                onChange={setWanted}
              />
              <ProblemNotice problem={again.problem} />
              {seen && <Look preview={seen.preview} wanted={wanted} onChange={setWanted} />}
              <ProblemNotice problem={begin.problem} />
              <div class="row">
                <button
                  type="button"
                  class={`button ${wanted.mode === 'delete' || isMuch ? 'danger' : isSeen && !isFaulty ? 'primary' : ''}`}
                  aria-disabled={!isSeen || isFaulty}
                  aria-busy={begin.busy}
                  onClick={() => {
                    if (!isSeen || isFaulty) return
                    if (isMuch) setAsking(true)
                    else begin.run()
                  }}
                >
                  {a(`import.do.${wanted.mode}`, { name: wanted.entity })}
                </button>
                {!isSeen && (
                  <button type="button" class="button primary" aria-busy={again.busy} onClick={again.run}>
                    {a('import.look')}
                  </button>
                )}
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
      <button type="button" class="button" onClick={onStop}>
        {t('cancel')}
      </button>
    </div>
  )
}

export default Import
