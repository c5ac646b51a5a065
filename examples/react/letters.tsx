import type { Page, Specification } from '@carrel/client'
import { useEffect, useState } from 'react'
import type { Letters as Letter } from '../entities.ts'
import { carrel } from './carrel.ts'

const pageSize = 20
const columns = ['id', 'title', 'place', 'year'] as const
type Column = (typeof columns)[number]
type Row = Pick<Letter, Column>
type Order = NonNullable<Specification<Letter, never>['orderBy']>

/**
 * The compiler knows the fields: it accepts `place` for sorting, but neither `subjects` nor the misspelled
 * `plaec`.
 */
const ask = (words: string, orderBy: Order) =>
  carrel.entity('letters').query({
    select: columns,
    ...(words === '' ? {} : { where: ['match', ['title', 'shelfmark'], words] as const }),
    orderBy,
  })

export function Letters() {
  const [words, setWords] = useState('')
  const [by, setBy] = useState<Exclude<Column, 'id'>>('year')
  const [offset, setOffset] = useState(0)
  const [page, setPage] = useState<Page<Row>>()
  const [problem, setProblem] = useState('')

  useEffect(() => {
    // A new search aborts a request that is still under way.
    const leaving = new AbortController()
    ask(words, [by])
      .page({ limit: pageSize, offset, total: true, signal: leaving.signal })
      .then(
        found => {
          setPage(found)
          setProblem('')
        },
        error => leaving.signal.aborted || setProblem((error as Error).message),
      )
    return () => leaving.abort()
  }, [words, by, offset])

  const total = page?.total ?? 0
  return (
    <main>
      <form onSubmit={event => event.preventDefault()}>
        <label>
          Words{' '}
          <input
            type="search"
            value={words}
            onChange={event => {
              setWords(event.target.value)
              setOffset(0)
            }}
          />
        </label>
        <label>
          Sorted by{' '}
          <select value={by} onChange={event => setBy(event.target.value as typeof by)}>
            <option>title</option>
            <option>place</option>
            <option>year</option>
          </select>
        </label>
        <button type="button" onClick={() => void carrel.logout()}>
          Log out
        </button>
      </form>
      {problem && <p role="alert">{problem}</p>}
      <p aria-live="polite">{total} letters</p>
      <table>
        <thead>
          <tr>
            <th>Title</th>
            <th>Place</th>
            <th>Year</th>
          </tr>
        </thead>
        <tbody>
          {page?.records.map(({ id, title, place, year }) => (
            <tr key={id}>
              <td>{title}</td>
              <td>{place}</td>
              <td>{year}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p>
        <button type="button" disabled={offset === 0} onClick={() => setOffset(offset - pageSize)}>
          Back
        </button>{' '}
        <button
          type="button"
          disabled={offset + pageSize >= total}
          onClick={() => setOffset(offset + pageSize)}
        >
          Next
        </button>
      </p>
    </main>
  )
}
