import type { JSX } from 'preact'
import { language, t, tOf } from '../../i18n/i18n.ts'
import { useLoad } from '../../parts/load.ts'
import { Page } from '../../parts/Page.tsx'
import { Loading, ProblemView } from '../../parts/states.tsx'
import { cut, isAddress, Value } from '../../parts/Value.tsx'
import { AsRequest } from '../../query/AsRequest.tsx'
import { type Bitstream, type Item, loadFiles, loadItem } from '../../records/items.ts'
import { hasWord } from '../../records/search.ts'
import { href, type Parameters, withQuery } from '../../router.ts'
import { who } from '../../session.ts'
import { Cite } from './Cite.tsx'
import { addressOfDoi } from './citation.ts'
import { FileEntry } from './FileEntry.tsx'
import './items.css'

/** One item: its files and its metadata. */
export default function ItemPage({ parameters }: { readonly parameters: Parameters }): JSX.Element {
  const uuid = parameters.uuid ?? ''
  const item = useLoad(signal => loadItem(uuid, signal), [uuid, who.value])
  const files = useLoad(signal => loadFiles(uuid, signal), [uuid, who.value])
  const { value } = item
  return (
    <Page
      title={value ? cut(value.title ?? value.identifier, 300) : t('items.one')}
      lead={value && <bdi>{cut(value.authors.join('; '), 400)}</bdi>}
      crumbs={[
        [t('nav.home'), href('')],
        [t('items.title'), href('items')],
      ]}
      actions={
        <>
          {value && <Cite item={value} />}
          <AsRequest
            requested={() => ({
              query: `items { uuid = ${JSON.stringify(uuid)} }`,
              record: { entity: 'items', key: [uuid] },
            })}
          />
        </>
      }
    >
      {item.problem ? (
        <ProblemView problem={item.problem} retry={item.reload} />
      ) : value ? (
        <div class="item">
          <section class="stack">
            <h2>{t('files')}</h2>
            {files.problem ? (
              <ProblemView problem={files.problem} retry={files.reload} />
            ) : files.value ? (
              <Files list={files.value.records} total={files.value.total} />
            ) : (
              <Loading lines={3} />
            )}
          </section>
          <Metadata item={value} />
        </div>
      ) : (
        <Loading />
      )}
    </Page>
  )
}

/** Ranks files: those in ORIGINAL come first, thumbnails and extracted texts after them. */
const rank = ({ bundle }: Bitstream) => (bundle === 'ORIGINAL' ? 0 : 1)

interface Parts {
  readonly list: readonly Bitstream[]
  readonly total: number
}

function Files({ list, total }: Parts): JSX.Element {
  if (list.length === 0) return <p class="soft">{t('files.none')}</p>
  const sorted = list.toSorted((a, b) => rank(a) - rank(b))
  return (
    <>
      <ul class="files">
        {sorted.map(file => (
          <FileEntry key={file.uuid} file={file} alone={list.length === 1} />
        ))}
      </ul>
      {total > list.length && <p class="soft">{t('files.more', { n: total - list.length })}</p>}
    </>
  )
}

const Metadata = ({ item }: { readonly item: Item }): JSX.Element => (
  <section>
    <h2>{t('items.metadata')}</h2>
    <dl class="metadata">
      <dt>{t('items.identifier')}</dt>
      <dd>
        <bdi>{item.identifier}</bdi>
      </dd>
      {Object.entries(item.metadata).map(([field, values]) => (
        <>
          <dt key={field}>
            <bdi title={field}>{tOf('metadata', field)}</bdi>
          </dt>
          {values.map(({ value, language: tag }, at) => (
            <dd key={`${field} ${at}`}>
              <MetadataText field={field} value={value} />
              {tag && (
                <span class="tag lang" title={nameOfLanguage(tag)}>
                  {tag}
                </span>
              )}
            </dd>
          ))}
        </>
      ))}
    </dl>
  </section>
)

/** A value of metadata. People and subjects lead to what else there is of them, and a DOI to its object. */
function MetadataText({ field, value }: { readonly field: string; readonly value: string }): JSX.Element {
  const shown = <bdi>{cut(value, 20_000)}</bdi>
  const doi = field === 'dc.identifier.doi' ? addressOfDoi(value) : undefined
  if (doi)
    return (
      <a href={doi} target="_blank" rel="noopener noreferrer">
        {shown}
      </a>
    )
  if (isAddress(value)) return <Value value={value} />
  if (/^dc\.language(\.iso)?$/.test(field)) return <bdi title={value}>{nameOfLanguage(value)}</bdi>
  if (!hasWord(value) || value.length > 200) return shown
  if (/^dc\.(contributor|creator)\b/.test(field))
    return <a href={href(withQuery('items', { search: value }))}>{shown}</a>
  if (/^dc\.subject\b/.test(field))
    return <a href={href(withQuery('search', { q: `"${value.replaceAll('"', ' ')}"` }))}>{shown}</a>
  return shown
}

/** The name of a language by its tag, such as `en` or `de_AT`; the text itself if it is none. */
function nameOfLanguage(tag: string): string {
  try {
    return new Intl.DisplayNames(language.value, { type: 'language' }).of(tag.replaceAll('_', '-')) ?? tag
  } catch {
    return tag
  }
}
