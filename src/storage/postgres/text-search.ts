import { letters, single, unread, wordCharacter } from '../../lib/words.ts'
import type { TextQuery } from '../../model/plan.ts'
import { patternOf } from '../../model/text-query.ts'
import type { Bind } from '../tables/cells.ts'
import type { SearchedValue } from '../tables/dialect.ts'

/**
 * Text search in statements (Q27): each row's words are read by the steps of src/lib/words.ts. This needs
 * PostgreSQL 17, for the collation `pg_c_utf8`, and UTF8.
 */

/** @returns SQL that is true or false, never NULL */
export function finds(values: readonly SearchedValue[], words: TextQuery, bind: Bind<string>): string {
  const patterns = patternsOf(words, bind)
  const between = bind(betweenWords())
  const all = values.map(value => searchable(value, between)).join(` || ${betweenTexts} || `)
  const missing = `SELECT 1 FROM unnest(${patterns}) AS p (p) WHERE strpos(s.s, p.p) = 0`
  return `(SELECT NOT EXISTS (${missing}) FROM (SELECT ${all} AS s OFFSET 0) AS s)`
}

/** @returns SQL of a whole number */
export function relevance(values: readonly SearchedValue[], words: TextQuery, bind: Bind<string>): string {
  const between = bind(betweenWords())
  const fields = `unnest(ARRAY[${values.map(value => searchable(value, between)).join(', ')}]) AS f (f)`
  const counted = `SELECT f.f, regexp_count(f.f, ${literal('[^ \u0001]+')}) AS words FROM ${fields} OFFSET 0`
  const found = '(length(f.f) - length(replace(f.f, p.p, $$$$))) / length(p.p)'
  return `(SELECT CAST(coalesce(sum(10000000::bigint * n.n / (10 * n.n + 10 + f.words)), 0) AS BIGINT)
    FROM (${counted}) AS f, unnest(${patternsOf(words, bind)}) AS p (p), LATERAL (SELECT ${found} AS n) AS n)`
}

/** SQL of an array of texts, one for each word, which must be in the text of `searchable`. */
const patternsOf = (words: TextQuery, bind: Bind<string>): string =>
  `string_to_array(CAST(${bind(words.map(patternOf).join('\u0001'))} AS TEXT), ${betweenTexts})`

/** A literal that means the same whatever `standard_conforming_strings` is. */
const literal = (text: string) => `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`

const betweenTexts = literal('\u0001')

/**
 * SQL of the words of a value, like `searchable` of src/model/text-query.ts; empty without a value.
 * @param between placeholder of `betweenWords`
 */
export function searchable({ sql, isJson }: SearchedValue, between: string): string {
  if (!isJson) return `coalesce(${spacedWords(`CAST(${sql} AS TEXT)`, between)}, '')`
  // The lax mode would list elements of arrays twice.
  const texts = `jsonb_path_query(${sql}, 'strict $.** ? (@.type() == "string")')`
  const words = spacedWords("t.t #>> '{}'", between)
  return `(SELECT coalesce(string_agg(${words}, ${betweenTexts}), '') FROM ${texts} AS t (t))`
}

const characterOf = (code: number) =>
  code <= 0xffff ? `\\u${code.toString(16).padStart(4, '0')}` : `\\U${code.toString(16).padStart(8, '0')}`

const classOf = (ranges: Iterable<readonly [number, number]>) =>
  [...ranges].map(([from, to]) => `${characterOf(from)}-${characterOf(to)}`).join('')

/** The end of the code points that may be in words; the last ones are variation selectors. */
const endOfWords = 0xe_01f0

let notWords: string | undefined

/** A regular expression for word separators: 13 kB, made when it is first needed, in about 20 ms. */
export function betweenWords(): string {
  if (notWords !== undefined) return notWords
  const ranges: [number, number][] = []
  for (let code = 1; code < endOfWords; code++) {
    if (!wordCharacter.test(String.fromCodePoint(code))) continue
    const last = ranges.at(-1)
    if (last?.[1] === code - 1) last[1] = code
    else ranges.push([code, code])
  }
  notWords = `[^${classOf(ranges)}]+`
  return notWords
}

/** @param pattern SQL */
const replaced = (text: string, pattern: string, by: string) =>
  `regexp_replace(${text}, ${pattern}, ${literal(by)}, 'g')`

/** @param sql of a text; NULL stays NULL */
function spacedWords(sql: string, between: string): string {
  const ascii = replaced('lower(x.x COLLATE "C")', literal('[^0-9a-z]+'), '  ')
  const bare = `normalize(${replaced('normalize(x.x, NFKD) COLLATE "C"', literal(`[${classOf(unread)}]+`), '')}, NFC)`
  const [from, to] = [0, 1].map(at => letters.one.map(pair => pair[at]).join(''))
  const read = letters.two.reduce(
    (text, [letter, reading]) => `replace(${text}, '${letter}', '${reading}')`,
    `translate(lower(${bare} COLLATE "pg_c_utf8"), '${from}', '${to}')`,
  )
  const apart = replaced(`(${read}) COLLATE "C"`, literal(`([${classOf(single)}])`), ' \\1 ')
  const all = replaced(apart, `CAST(${between} AS TEXT)`, '  ')
  const spaced = `CASE WHEN octet_length(x.x) = length(x.x) THEN ${ascii} ELSE ${all} END`
  return `(SELECT ' ' || btrim(${spaced}) || ' ' FROM (SELECT ${sql} AS x OFFSET 0) AS x)`
}
