import type { Process } from '@carrel/client/processes'
import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { Follow } from '../../administration/Follow.tsx'
import { Sending, type Transfer, useTransfer } from '../../administration/transfer.tsx'
import { service } from '../../api.ts'
import { a } from '../../i18n/admin.ts'
import { formatBytes } from '../../i18n/i18n.ts'
import { Button, Check, Input, LinkButton } from '../../parts/controls.tsx'
import { Drop } from '../../parts/Drop.tsx'
import { Field } from '../../parts/Field.tsx'
import { useWork } from '../../parts/load.ts'
import { Page } from '../../parts/Page.tsx'
import { ProblemNotice } from '../../parts/states.tsx'
import { RuleField, readChoices } from '../../people/RuleField.tsx'
import { href } from '../../router.ts'
import { archiveOf, type Contained, chosenIn, droppedIn } from './folder.ts'

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
export default function Ingest(): JSX.Element {
  const [options, setOptions] = useState<Options>({
    name: '',
    read: '',
    from: '',
    until: '',
    addOnly: false,
    dryRun: true,
  })
  const { transfer, set, send, stop } = useTransfer()
  const file = transfer.at === 'start' ? undefined : transfer.file
  const isForReal = useRef(false)
  const work = useWork(async () => {
    const asked = isForReal.current ? { ...options, dryRun: false } : options
    const follow = async (sent: { readonly file: File; readonly upload: string }): Promise<Transfer> => {
      const { processId } = await begin(sent.upload, asked)
      return { at: 'process', ...sent, id: processId, isDry: asked.dryRun }
    }
    if ('upload' in transfer) set(await follow({ file: transfer.file, upload: transfer.upload }))
    else if (file) await send(file, undefined, follow)
  })
  const run = (forReal: boolean) => {
    isForReal.current = forReal
    if (file) work.run()
  }
  const crumbs = [[a('items.title'), href('admin/items')]] as const
  if (transfer.at === 'process') {
    const { file, upload, id, isDry, ended } = transfer
    return (
      <Page title={a('ingest.title')} crumbs={crumbs}>
        <Follow key={id} id={id} onEnd={process => set({ ...transfer, ended: process })} />
        {ended && (
          <div class="row">
            {isDry && ended.state === 'completed' && (
              <Button
                look="primary"
                label={a('ingest.for-real')}
                aria-busy={work.busy}
                onClick={() => run(true)}
              />
            )}
            <LinkButton label={a('items.title')} to={'admin/items'} />
            <Button label={a('ingest.back')} onClick={() => set({ at: 'sent', file, upload })} />
          </div>
        )}
        <ProblemNotice problem={work.problem} />
      </Page>
    )
  }
  return (
    <Page title={a('ingest.title')} crumbs={crumbs} lead={a('ingest.lead')}>
      {transfer.at === 'sending' ? (
        <Sending {...transfer} onStop={stop} />
      ) : (
        <Choice file={file} onChoose={one => set({ at: 'chosen', file: one })} />
      )}
      <section class="section form">
        <h2>{a('import.options')}</h2>
        <OptionFields options={options} onChange={setOptions} />
        <ProblemNotice problem={work.problem} />
        <div>
          <Button
            look="primary"
            label={options.dryRun ? a('ingest.try') : a('ingest.do')}
            aria-disabled={!file}
            aria-busy={work.busy}
            onClick={() => run(false)}
          />
        </div>
      </section>
    </Page>
  )
}

interface ChoiceParts {
  readonly file: File | undefined
  readonly onChoose: (file: File) => void
}

/** Chooses an archive, or a folder that becomes one. */
function Choice({ file, onChoose }: ChoiceParts): JSX.Element {
  const dropped = useRef<FileSystemDirectoryEntry | undefined>(undefined)
  const chooseAll = (all: readonly Contained[]) => {
    if (all.length > 0) onChoose(archiveOf(all))
  }
  const reading = useWork(async () => {
    if (dropped.current) chooseAll(await droppedIn(dropped.current))
  })
  return (
    <div class="stack">
      <Drop
        label={file ? file.name : a('ingest.drop')}
        hint={file ? formatBytes(file.size) : a('ingest.drop.hint')}
        accept=".zip,.tar,.gz,.tgz"
        onFiles={([first]) => first && onChoose(first)}
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
  )
}

interface OptionFieldsParts {
  readonly options: Options
  readonly onChange: (options: Options) => void
}

function OptionFields({ options, onChange }: OptionFieldsParts): JSX.Element {
  const set = (change: Partial<Options>) => onChange({ ...options, ...change })
  return (
    <>
      <div class="fields">
        <Field label={a('ingest.name')} hint={a('ingest.name.hint')}>
          <Input value={options.name} onText={name => set({ name })} />
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
              <Input type="date" value={options.from} onText={from => set({ from })} />
            </Field>
            <Field label={a('policies.until')}>
              <Input type="date" value={options.until} onText={until => set({ until })} />
            </Field>
          </>
        )}
      </div>
      <div>
        <Check label={a('ingest.dry-run')} checked={options.dryRun} onChange={dryRun => set({ dryRun })} />
        <Check
          label={a('ingest.add-only')}
          checked={options.addOnly}
          onChange={addOnly => set({ addOnly })}
        />
      </div>
    </>
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
