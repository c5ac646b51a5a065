import { downloadLink } from '@carrel/client/downloads'
import type { ComponentType, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { service } from '../../api.ts'
import { t } from '../../i18n/i18n.ts'
import { Lazy, type Load } from '../../parts/Lazy.tsx'
import { useLoad } from '../../parts/load.ts'
import { Loading, Notice, ProblemNotice } from '../../parts/states.tsx'
import { type Bitstream, pictureTypes } from '../../records/items.ts'

/**
 * Kinds of files shown in place. HTML and SVG are excluded, because they could run code in the console's
 * origin.
 */
type Kind = 'picture' | 'sound' | 'film' | 'text' | 'pdf'

const pictures: ReadonlySet<string> = new Set(pictureTypes)
const texts = new Set(['text/plain', 'text/csv', 'application/json', 'text/markdown'])
/**
 * Maximum size in bytes of a file shown in place; a larger one would fill the page's memory and is
 * downloaded.
 */
const largest = 100_000_000
/** Number of bytes of a text that are shown. */
const readable = 200_000

export function kindOf({ mime_type, size }: Pick<Bitstream, 'mime_type' | 'size'>): Kind | undefined {
  const type = mime_type.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (texts.has(type)) return 'text'
  if (/^audio\/[\w.+-]+$/.test(type)) return 'sound'
  if (/^video\/[\w.+-]+$/.test(type)) return 'film'
  if (size > largest) return undefined
  if (pictures.has(type)) return 'picture'
  return type === 'application/pdf' ? 'pdf' : undefined
}

export const contentOf = ({ uuid }: Bitstream) => `/api/core/bitstreams/${uuid}/content`

const loadPdf: Load<{ readonly content: Blob }> = async () =>
  (await import('./PdfViewer.tsx')).PdfViewer as ComponentType<{ readonly content: Blob }>

export function Viewer({ file, kind }: { readonly file: Bitstream; readonly kind: Kind }): JSX.Element {
  return (
    <div class="viewer">
      {kind === 'text' ? (
        <TextViewer file={file} />
      ) : kind === 'sound' || kind === 'film' ? (
        <Player file={file} kind={kind} />
      ) : (
        <Fetched file={file} kind={kind} />
      )}
    </div>
  )
}

/**
 * A player for sound or film, which requests ranges by itself. The link is valid for 2 s; afterwards the
 * cookie of the first answer applies.
 */
function Player({ file, kind }: { readonly file: Bitstream; readonly kind: 'sound' | 'film' }): JSX.Element {
  const { value, problem } = useLoad(() => downloadLink(service.value as never, file.uuid), [file.uuid])
  const [broken, setBroken] = useState(false)
  if (problem) return <ProblemNotice problem={problem} />
  if (broken) return <Notice>{t('files.unknown')}</Notice>
  if (!value) return <Loading lines={2} />
  const common = {
    src: value,
    controls: true,
    preload: 'metadata' as const,
    'aria-label': file.name,
    onError: () => setBroken(true),
  }
  return kind === 'sound' ? <audio {...common} /> : <video {...common} />
}

interface Parts {
  readonly file: Bitstream
  readonly kind: 'picture' | 'pdf'
}

function Fetched({ file, kind }: Parts): JSX.Element {
  const { value, problem } = useLoad(
    async signal => {
      const response = await service.value.request('GET', contentOf(file), {
        headers: { accept: '*/*' },
        signal,
      })
      return response.blob()
    },
    [file.uuid],
  )
  if (problem) return <ProblemNotice problem={problem} />
  if (!value) return <Loading lines={4} />
  return kind === 'pdf' ? (
    <Lazy load={loadPdf} with={{ content: value }} />
  ) : (
    <Picture file={file} content={value} />
  )
}

function Picture({ file, content }: { readonly file: Bitstream; readonly content: Blob }): JSX.Element {
  const [address, setAddress] = useState<string>()
  const [broken, setBroken] = useState(false)
  useEffect(() => {
    const made = URL.createObjectURL(content)
    setAddress(made)
    return () => URL.revokeObjectURL(made)
  }, [content])
  if (broken) return <Notice>{t('files.unknown')}</Notice>
  if (!address) return <Loading lines={2} />
  return <img src={address} alt={file.description ?? file.name} onError={() => setBroken(true)} />
}

function TextViewer({ file }: { readonly file: Bitstream }): JSX.Element {
  const { value, problem } = useLoad(
    async signal => {
      const headers = { accept: '*/*', ...(file.size > readable ? { range: `bytes=0-${readable - 1}` } : {}) }
      const response = await service.value.request('GET', contentOf(file), { headers, signal })
      return response.text()
    },
    [file.uuid],
  )
  if (problem) return <ProblemNotice problem={problem} />
  if (value === undefined) return <Loading lines={4} />
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled from the keyboard */}
      <pre tabIndex={0} dir="auto">
        {value}
      </pre>
      {file.size > readable && <Notice>{t('files.beginning')}</Notice>}
    </>
  )
}
