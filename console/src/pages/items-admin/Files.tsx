import { uploadFile } from '@carrel/client/uploads'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { service } from '../../api.ts'
import { a } from '../../i18n/admin.ts'
import { formatBytes, t, tOf } from '../../i18n/i18n.ts'
import { useStopper } from '../../parts/abort.ts'
import { Confirm } from '../../parts/Confirm.tsx'
import { Button } from '../../parts/controls.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { Drop } from '../../parts/Drop.tsx'
import { useLoad } from '../../parts/load.ts'
import { Pending, ProblemNotice } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/Table.tsx'
import { toast } from '../../parts/toast.tsx'
import { addBundle, type Bitstream, deleteFile, loadFiles, replaceFile } from './items.ts'
import { Policies } from './Policies.tsx'

/** The bundle of the files meant for readers. */
const usual = 'ORIGINAL'

interface Sending {
  readonly name: string
  readonly done: number
  readonly total: number
  readonly problem?: unknown
  readonly stop: () => void
}

/** Sends files one after the other. @param onDone called at the end, even if a file failed */
function useSending(findBundle: () => Promise<string>, onDone: () => void) {
  const [sending, setSending] = useState<Sending>()
  const send = async (files: readonly File[]) => {
    const controller = new AbortController()
    const { signal } = controller
    const stop = () => {
      controller.abort()
      setSending(undefined)
    }
    let at = { name: '', done: 0, total: 1, stop }
    try {
      const bundle = await findBundle()
      for (const file of files) {
        at = { name: file.name, done: 0, total: file.size, stop }
        setSending(at)
        await uploadFile(service.value, bundle, file, {
          signal,
          onProgress: ({ done, total }) => setSending({ ...at, done, total }),
        })
      }
      setSending(undefined)
      toast(a('files.sent', { n: files.length }))
    } catch (error) {
      if (!signal.aborted) setSending({ ...at, problem: error })
    }
    onDone()
  }
  return { sending, send }
}

type Act = (file: Bitstream) => void

const columnsFor = (
  act: Readonly<Record<'show' | 'replace' | 'leave', Act>>,
): readonly Column<Bitstream>[] => [
  { id: 'name', label: a('file.name'), wrap: true, cell: ({ name }) => <bdi>{name}</bdi> },
  { id: 'size', label: a('file.size'), numeric: true, cell: ({ sizeBytes }) => formatBytes(sizeBytes) },
  {
    id: 'actions',
    label: <span class="sr-only">{a('actions')}</span>,
    cell: file => (
      <span class="row apart">
        <Button look="link" label={a('file.access')} of={file.name} onClick={() => act.show(file)} />
        <Button look="link" label={a('file.replace')} of={file.name} onClick={() => act.replace(file)} />
        <Button look="danger-link" label={t('delete')} of={file.name} onClick={() => act.leave(file)} />
      </span>
    ),
  },
]

/** The files of an item by bundle, and a place to drop more. */
export function Files({ item }: { readonly item: string }): JSX.Element {
  const { value, problem, reload } = useLoad(signal => loadFiles(item, signal), [item])
  const [leaving, setLeaving] = useState<Bitstream>()
  const [shown, setShown] = useState<Bitstream>()
  const [replacing, setReplacing] = useState<Bitstream>()
  const original = value?.find(({ bundle }) => bundle.name === usual)?.bundle.uuid
  const { sending, send } = useSending(async () => original ?? (await addBundle(item, usual)).uuid, reload)
  const columns = columnsFor({ show: setShown, replace: setReplacing, leave: setLeaving })

  return (
    <div class="stack">
      {problem || !value ? (
        <Pending problem={problem} retry={reload} lines={3} />
      ) : value.every(({ files }) => files.total === 0) ? (
        <p class="soft">{a('files.none')}</p>
      ) : (
        value.map(({ bundle, files }) =>
          files.total === 0 ? null : (
            <div key={bundle.uuid} class="stack">
              <h3>
                <bdi>{a('files.of', { what: tOf('bundle', bundle.name) })}</bdi>
              </h3>
              <Table
                label={a('files.of', { what: tOf('bundle', bundle.name) })}
                columns={columns}
                rows={files.items}
                idOf={({ uuid }) => uuid}
                whole
              />
              {files.total > files.items.length && (
                <p class="soft">{a('more', { n: files.total - files.items.length })}</p>
              )}
            </div>
          ),
        )
      )}
      {sending && !sending.problem ? (
        <Progress of={sending} />
      ) : (
        <Drop
          label={a('files.drop')}
          hint={a('files.drop.hint')}
          multiple
          onFiles={files => {
            send(files).catch(() => {})
          }}
        />
      )}
      <ProblemNotice problem={sending?.problem} />
      {leaving && (
        <Confirm
          title={a('file.delete.title', { name: leaving.name })}
          act={t('delete')}
          onClose={() => setLeaving(undefined)}
          work={async () => {
            await deleteFile(leaving.uuid)
            toast(a('file.deleted'))
            reload()
          }}
          help={a('file.delete.help')}
        />
      )}
      {replacing && (
        <Replace
          file={replacing}
          onClose={isDone => {
            setReplacing(undefined)
            if (isDone) reload()
          }}
        />
      )}
      {shown && (
        <Dialog title={a('file.access.title', { name: shown.name })} wide onClose={() => setShown(undefined)}>
          <Policies object={shown.uuid} />
        </Dialog>
      )}
    </div>
  )
}

const Progress = ({ of: { name, done, total, stop } }: { readonly of: Sending }): JSX.Element => (
  <div class="stack" role="status">
    <p>
      <bdi>{name}</bdi>{' '}
      <span class="soft number">
        {formatBytes(done)} / {formatBytes(total)}
      </span>
    </p>
    <progress aria-label={a('import.sending', { name: name })} value={done} max={Math.max(1, total)} />
    <div>
      <Button label={t('cancel')} onClick={stop} />
    </div>
  </div>
)

interface Parts {
  readonly file: Bitstream
  readonly onClose: (isDone: boolean) => void
}

/** Asks for the new content of a file, and once more before the old one goes. */
function Replace({ file, onClose }: Parts): JSX.Element {
  const [chosen, setChosen] = useState<File>()
  const stopper = useStopper()
  return (
    <Confirm
      title={a('file.replace.title', { name: file.name })}
      act={a('file.replace')}
      onClose={isDone => {
        stopper.stop()
        onClose(isDone)
      }}
      work={async () => {
        if (!chosen) return false
        await replaceFile(file, chosen, stopper.begin())
        return toast(a('file.replaced', { name: file.name }))
      }}
    >
      <p>{a('file.replace.help')}</p>
      <Drop
        label={a('files.drop.one')}
        hint={chosen && `${chosen.name}, ${formatBytes(chosen.size)}`}
        onFiles={([one]) => setChosen(one)}
      />
    </Confirm>
  )
}
