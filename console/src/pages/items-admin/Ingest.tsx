import type { Process } from '@carrel/client/processes'
import { uploadInPieces } from '@carrel/client/uploads'
import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { service } from '../../api.ts'
import { a } from '../../i18n/admin.ts'
import { formatBytes, t } from '../../i18n/i18n.ts'
import { useStopper } from '../../parts/abort.ts'
import { Button, Check, Input, LinkButton } from '../../parts/controls.tsx'
import { Drop } from '../../parts/Drop.tsx'
import { Field } from '../../parts/Field.tsx'
import { useWork } from '../../parts/load.ts'
import { Page } from '../../parts/Page.tsx'
import { ProblemNotice } from '../../parts/states.tsx'
import { href } from '../../router.ts'
import { RuleField, readChoices } from '../entities-admin/RuleField.tsx'
import { Follow } from '../processes/Follow.tsx'
import { archiveOf, type Contained, chosenIn, droppedIn } from './folder.ts'
import '../import/import.css'

interface Options {
  readonly name: string
  readonly read: string
  readonly from: string
  readonly until: string
  readonly addOnly: boolean
  readonly dryRun: boolean
}

const begin = (upload: string, { name, read, from, until, addOnly, dryRun }: Options): Promise<Process> =>
  service.value.post<Process>('/api/admin/ingest', {
    query: {
      upload,
      name: name.trim() || undefined,
      read: read || undefined,
      from: (read !== '' && from) || undefined,
      until: (read !== '' && until) || undefined,
      addOnly: addOnly || undefined,
      dryRun: dryRun || undefined,
    },
  })

/** The beginning of a table of items, as the guide has it. */
const manifest = `identifier,dc.title,dc.title[de],dc.contributor.author,files,readers,collections
poster-1,A poster,Ein Plakat,Ada||Zoë,scans/1.tif|scans/1.txt,eperson|anonymous from:2027-01-01,10673/2
poster-2,Another poster,,Zoë,scans/2.tif,,10673/2`

/** Ingests an archive with folders of items. */
function Ingest(): JSX.Element {
  const [options, setOptions] = useState<Options>({
    name: '',
    read: '',
    from: '',
    until: '',
    addOnly: false,
    dryRun: true,
  })
  const [file, setFile] = useState<File>()
  const [upload, setUpload] = useState<string>()
  const [done, setDone] = useState<number>()
  const [running, setRunning] = useState<{
    readonly id: string
    readonly dryRun: boolean
    readonly ended?: Process
  }>()
  const dropped = useRef<FileSystemDirectoryEntry | undefined>(undefined)
  const stopper = useStopper()
  const set = (change: Partial<Options>) => setOptions({ ...options, ...change })

  const choose = (one: File | undefined) => {
    setFile(one)
    setUpload(undefined)
  }
  const chooseAll = (all: readonly Contained[]) => {
    if (all.length > 0) choose(archiveOf(all))
  }
  const reading = useWork(async () => {
    if (dropped.current) chooseAll(await droppedIn(dropped.current))
  })
  const isForReal = useRef(false)
  const work = useWork(async () => {
    if (!file) return
    const asked = isForReal.current ? { ...options, dryRun: false } : options
    const signal = stopper.begin()
    try {
      setDone(upload === undefined ? 0 : undefined)
      const sent =
        upload ??
        (await uploadInPieces(service.value, file, {
          signal,
          onProgress: progress => setDone(progress.done),
        }))
      setUpload(sent)
      const { processId } = await begin(sent, asked)
      setRunning({ id: processId, dryRun: asked.dryRun })
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      setDone(undefined)
    }
  })
  const check = (name: 'addOnly' | 'dryRun', label: string) => (
    <Check checked={options[name]} onChange={isChecked => set({ [name]: isChecked })}>
      {label}
    </Check>
  )
  const crumbs = [[a('items.title'), href('admin/items')]] as const
  if (running)
    return (
      <Page title={a('ingest.title')} crumbs={crumbs}>
        <Follow key={running.id} id={running.id} onEnd={ended => setRunning({ ...running, ended })} />
        {running.ended && (
          <div class="row">
            {running.dryRun && running.ended.state === 'completed' && (
              <Button
                look="primary"
                label={a('ingest.for-real')}
                aria-busy={work.busy}
                onClick={() => {
                  isForReal.current = true
                  work.run()
                }}
              />
            )}
            <LinkButton label={a('items.title')} href={href('admin/items')} />
            <Button label={a('ingest.back')} onClick={() => setRunning(undefined)} />
          </div>
        )}
        <ProblemNotice problem={work.problem} />
      </Page>
    )
  return (
    <Page title={a('ingest.title')} crumbs={crumbs} lead={a('ingest.lead')}>
      {done === undefined ? (
        <div class="stack">
          <Drop
            label={file ? file.name : a('ingest.drop')}
            hint={file ? formatBytes(file.size) : a('ingest.drop.hint')}
            accept=".zip,.tar,.gz,.tgz"
            onFiles={([first]) => choose(first)}
            onFolder={one => {
              dropped.current = one
              reading.run()
            }}
          />
          <div>
            <Button label={a('ingest.folder')} onClick={() => chooseFolder(chooseAll)} />
          </div>
          <ProblemNotice problem={reading.problem} />
          <details>
            <summary>{a('ingest.manifest')}</summary>
            <p>{a('ingest.manifest.help')}</p>
            <pre class="recipe">{manifest}</pre>
            <p class="soft small">{a('ingest.manifest.columns')}</p>
          </details>
        </div>
      ) : (
        <div class="sending" role="status">
          <p>
            <bdi>{file?.name}</bdi>{' '}
            <span class="soft number">
              {formatBytes(done)} / {formatBytes(file?.size ?? 0)}
            </span>
          </p>
          <progress
            aria-label={a('import.sending', { name: file?.name ?? '' })}
            value={done}
            max={Math.max(1, file?.size ?? 1)}
          />
          <Button label={t('cancel')} onClick={stopper.stop} />
        </div>
      )}
      <section class="section form">
        <h2>{a('import.options')}</h2>
        <div class="fields">
          <Field label={a('ingest.name')} hint={a('ingest.name.hint')}>
            <Input value={options.name} onText={text => set({ name: text })} />
          </Field>
          <RuleField
            label={a('ingest.read')}
            value={options.read}
            choices={[['', a('ingest.read.archive')], ...readChoices()]}
            onChange={read => set({ read })}
          />
          {options.read !== '' && options.read !== 'admin' && (
            <>
              <Field label={a('policies.from')}>
                <Input type="date" value={options.from} onText={text => set({ from: text })} />
              </Field>
              <Field label={a('policies.until')}>
                <Input type="date" value={options.until} onText={text => set({ until: text })} />
              </Field>
            </>
          )}
        </div>
        <div>
          {check('dryRun', a('ingest.dry-run'))}
          {check('addOnly', a('ingest.add-only'))}
        </div>
        <ProblemNotice problem={work.problem} />
        <div>
          <Button
            look="primary"
            label={options.dryRun ? a('ingest.try') : a('ingest.do')}
            aria-disabled={!file}
            aria-busy={work.busy}
            onClick={() => {
              isForReal.current = false
              if (file) work.run()
            }}
          />
        </div>
      </section>
    </Page>
  )
}

/** Opens the browser's folder dialog. Nothing is sent yet. */
function chooseFolder(onChosen: (all: readonly Contained[]) => void): void {
  const input = document.createElement('input')
  input.type = 'file'
  input.webkitdirectory = true
  input.onchange = () => input.files && onChosen(chosenIn(input.files))
  input.click()
}

export default Ingest
