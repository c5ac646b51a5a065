import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { entities } from '../../entities.ts'
import { t, tOf } from '../../i18n/i18n.ts'
import { Button } from '../../parts/controls.tsx'
import { Page } from '../../parts/Page.tsx'
import { AddressSearch } from '../../parts/SearchBox.tsx'
import { Empty, Progress } from '../../parts/states.tsx'
import { allPath, type Found, hasWord, piecesOf, searchAll } from '../../records/search.ts'
import { href, query, setQuery } from '../../router.ts'
import { who } from '../../session.ts'
import './search.css'

interface State {
  readonly found: readonly Found[]
  /** Names of entities that could not be searched. */
  readonly failed: readonly string[]
  readonly isDone: boolean
}

/** Words in everything that the caller may read, grouped by entity. */
export default function SearchPage(): JSX.Element {
  const words = (query.value.get('q') ?? '').trim()
  const { found, failed, isDone } = useSearch(words)
  const known = entities.value ?? []
  // The groups keep their places, whichever comes first.
  const groups = found
    .filter(({ total }) => total > 0)
    .toSorted((a, b) => known.indexOf(a.entity) - known.indexOf(b.entity))
  const total = groups.reduce((sum, one) => sum + one.total, 0)
  const isPrefix = words.endsWith('*') || words.endsWith('"')
  return (
    <Page title={t('search.title')} lead={t('search.lead')} crumbs={[[t('nav.home'), href('')]]}>
      <AddressSearch label={t('search.label')} />
      <section class="stack" aria-busy={!isDone} aria-label={t('search.results')}>
        <Progress busy={!isDone && groups.length > 0} />
        {hasWord(words) && (
          <p role="status" class="soft">
            {isDone ? t('search.count', { n: total }) : t('search.running')}
          </p>
        )}
        {groups.map(one => (
          <Group key={one.entity.name} found={one} words={words} />
        ))}
        {failed.length > 0 && (
          <p class="soft small">
            {t('search.failed', { names: failed.map(name => tOf('entity', name)).join(', ') })}
          </p>
        )}
        {isDone && total === 0 && hasWord(words) && (
          <Empty title={t('search.none')} help={t('search.none.help')}>
            {!isPrefix && (
              <Button
                label={t('search.prefix', { words: `${words}*` })}
                onClick={() => setQuery({ q: `${words}*` }, { replace: true })}
              />
            )}
          </Empty>
        )}
      </section>
    </Page>
  )
}

const nothing: State = { found: [], failed: [], isDone: true }

function useSearch(words: string): State {
  const [state, setState] = useState<State>(nothing)
  const known = entities.value
  useEffect(() => {
    if (!hasWord(words) || !known) {
      setState(nothing)
      return
    }
    const controller = new AbortController()
    const { signal } = controller
    setState({ ...nothing, isDone: false })
    searchAll({ entities: known, words, signal }, answer =>
      setState(now =>
        'problem' in answer
          ? { ...now, failed: [...now.failed, answer.entity.name] }
          : { ...now, found: [...now.found, answer] },
      ),
    )
      .then(() => signal.aborted || setState(now => ({ ...now, isDone: true })))
      .catch(() => {})
    return () => controller.abort()
  }, [words, known?.map(({ name }) => name).join(), who.value])
  return state
}

/** A text, cut around the first word that was found in it. */
const Marked = ({ text }: { readonly text: string }): JSX.Element => (
  <>
    {piecesOf(text).map(([piece, isFound], at) =>
      isFound ? <mark key={at}>{piece}</mark> : <span key={at}>{piece}</span>,
    )}
  </>
)

const Group = ({ found, words }: { readonly found: Found; readonly words: string }): JSX.Element => (
  <section class="section found">
    <div class="row spread">
      <h2>{tOf('entity', found.entity.name)}</h2>
      <a href={href(allPath(found.entity, words))}>{t('search.all', { n: found.total })}</a>
    </div>
    <ul class="hits">
      {found.hits.map(({ path, name, texts }) => (
        <li key={path}>
          <a href={href(path)}>
            <bdi>
              <Marked text={name} />
            </bdi>
          </a>
          {texts.slice(0, 2).map(({ field, text }) => (
            <p key={field} class="small">
              <span class="soft">
                <bdi>{field}</bdi>:
              </span>{' '}
              <bdi>
                <Marked text={text} />
              </bdi>
            </p>
          ))}
        </li>
      ))}
    </ul>
  </section>
)
