import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { t } from '../i18n/i18n.ts'
import { Upload } from '../icons.ts'
import { Icon } from './Icon.tsx'
import './drop.css'

interface Parts {
  /** Names the files that can be dropped. */
  readonly label: string
  readonly hint?: ComponentChildren
  readonly accept?: string
  readonly multiple?: boolean
  readonly onFiles: (files: readonly File[]) => void
  readonly onFolder?: (folder: FileSystemDirectoryEntry) => void
}

/** A target for dropped files. For the keyboard it is the browser's file field. */
export function Drop({ label, hint, accept, multiple = false, onFiles, onFolder }: Parts): JSX.Element {
  const [over, setOver] = useState(false)
  const take = (list: FileList | null | undefined) => {
    const files = [...(list ?? [])]
    if (files.length > 0) onFiles(multiple ? files : files.slice(0, 1))
  }
  return (
    <label
      class={`drop ${over ? 'over' : ''}`}
      onDragOver={event => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={event => {
        event.preventDefault()
        setOver(false)
        const entries = [...(event.dataTransfer?.items ?? [])].map(one => one.webkitGetAsEntry())
        const folder = entries.find(one => one?.isDirectory)
        if (folder && onFolder) onFolder(folder as FileSystemDirectoryEntry)
        else take(event.dataTransfer?.files)
      }}
    >
      <Icon of={Upload} size={22} />
      <span class="what">
        <strong>
          <bdi>{label}</bdi>
        </strong>
        {hint && (
          <span class="small soft">
            <bdi>{hint}</bdi>
          </span>
        )}
      </span>
      <input
        class="sr-only"
        aria-label={label}
        type="file"
        {...(accept ? { accept } : {})}
        multiple={multiple}
        onChange={event => {
          take(event.currentTarget.files)
          // Without this, choosing the same file again after a change to it would go unnoticed.
          event.currentTarget.value = ''
        }}
      />
      <span class="button" aria-hidden="true">
        {t('file.choose')}
      </span>
    </label>
  )
}
