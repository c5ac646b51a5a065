/** Random queries about some entities, mostly valid and sometimes wrong in any way. */

export interface Named {
  readonly name: string
  readonly fields: readonly { readonly name: string; readonly type: string }[]
}

type Json = unknown

const texts = [
  ...[
    '',
    ' ',
    'a',
    'Z',
    'é',
    'e\u0301',
    '𝄞',
    '\ud800',
    '\0',
    '\n',
    '"',
    "'",
    '\\',
    '%',
    '_',
    '$1',
    '?1',
    ':x',
  ],
  ...[
    "'; DROP TABLE items; --",
    '1',
    'true',
    'null',
    'anonymous',
    'x'.repeat(300),
    '{}',
    '[1]',
    '*',
    'a.b[0]',
  ],
  ...[
    '2026-01-31T04:19:47Z',
    '2026',
    '0000-01-01',
    '9999-12-31T23:59:60Z',
    '-271821-04-20',
    '24:00',
    'infinity',
  ],
  ...['00000000-0000-4000-8000-000000000000', '0x10', '1e400', 'NaN'],
]
const numbers = [
  ...['0', '-0', '1', '-1', '0.1', '1e5', '1E-5', '1e400', '-1e-400', '9007199254740993', '1.50'],
  ...['9223372036854775807', '9223372036854775808', '-9223372036854775809', '1e999999999', '-1e-999999999'],
  ...[
    `${'9'.repeat(400)}.5`,
    '253402300800000',
    '-62135596800001',
    '0.0000000000000000000000000000000000001',
  ],
]
const expressions = [
  ...[
    '',
    'a',
    '^',
    '$',
    '.*',
    '(a|b)*',
    '(?i)É',
    '\\d+',
    '\\pL',
    '[^a]',
    '(a|^)*',
    'a{50}',
    '(',
    '\\1',
    '(?=a)',
  ],
  ...[
    '\\x{1F600}',
    '\\x00',
    '[[:alpha:]]',
    '\\b\\B',
    '(?P<n>a)',
    '[\\ud800]',
    'a**',
    '(?s).',
    '\\Q*\\E',
    '𝄞|é',
  ],
]
const masks = [
  'YYYY-MM-DD',
  'HH24:MI:SS.US',
  '9999.99',
  'FM0',
  'S9',
  'RN',
  'EEEE',
  '',
  '"x"',
  'x'.repeat(150),
]
const operators = [
  '=',
  '<',
  '<=',
  '>',
  '>=',
  '~',
  '~>',
  'null?',
  'in',
  'match',
  'and',
  'or',
  'not',
  'subquery',
]
const members = ['.a', '[0]', '."x.y"', '.a.b', `.${'a.'.repeat(20)}b`, '."dc.title"[0].value', '[1].a']
const logic = ['and', 'or', 'not', 'in', 'match', 'null?']
const inOrder = ['=', '<', '<=', '>', '>=']
const operatorsOf = (type: string) => [
  ...logic,
  ...(type === 'boolean' ? ['='] : inOrder),
  ...(type === 'text' || type === 'json' ? ['~'] : []),
  ...(type === 'json' ? ['~>'] : []),
]
const functions = [
  ...['count', 'count_distinct', 'avg', 'sum', 'min', 'max', 'to_string', 'highlight', 'relevance', 'x'],
]

/** A number that JavaScript can't hold, written as it is. */
class Exact {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** Mulberry32, a random generator that repeats its numbers for the same seed. */
function createRandom(seed: number) {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  /** Returns an integer from 0 to below `max`. */
  const below = (max: number) => Math.floor(next() * max)
  function pick<T>(items: readonly T[]): T {
    const item = items[below(items.length)]
    if (item === undefined) throw new Error('nothing to pick from')
    return item
  }
  return { below, pick }
}

export function createQueries(seed: number, entities: readonly Named[]) {
  const { below, pick } = createRandom(seed)
  const chance = (share: number) => below(1_000) < share * 1_000
  const some = <T>(most: number, make: () => T): T[] => Array.from({ length: below(most + 1) }, make)

  const constant = (type = ''): Json => {
    if (type === 'json' ? chance(0.2) : chance(0.02))
      return pick([null, [], {}, [1, ['a', null]], { a: { b: null } }, [[[[]]]]])
    if (type === 'boolean' || (type === 'json' ? chance(0.1) : chance(0.01))) return chance(0.5)
    if (type === 'integer' || type === 'number' || (type === 'json' ? chance(0.3) : chance(0.01)))
      return new Exact(pick(numbers))
    if (type === 'date-time' && chance(0.95))
      return pick(['2026-01-31T04:19:47Z', '2026', '0000-01-01', '9999-12-31T23:59:60Z', new Exact('1e12')])
    return pick(texts)
  }
  const fieldOf = ({ fields }: Named) => pick(fields)
  const nameOf = (entity: Named): string => {
    if (chance(0.03)) return pick([...texts, 'relevance', 'fact', 'count'])
    const { name, type } = fieldOf(entity)
    const member = pick([
      '.a',
      '[0]',
      '."x.y"',
      '.a[1].b',
      '[',
      '.',
      `.${'a.'.repeat(20)}b`,
      '."dc.title"[0].value',
    ])
    return (type === 'json' && chance(0.5)) || chance(0.02) ? `${name}${member}` : name
  }

  function column(entity: Named): Json {
    if (chance(0.7)) return nameOf(entity)
    const name = pick(functions)
    if (name === 'count' && chance(0.5)) return ['function', name]
    return ['function', name, nameOf(entity), ...(name === 'to_string' ? [pick(masks)] : [])]
  }

  function inner(depth: number): Json {
    const other = pick(entities)
    const fields = chance(0.7) ? nameOf(other) : some(3, () => nameOf(other))
    const where = chance(0.7) ? [condition(other, depth + 1)] : []
    const clauses = [
      ...(chance(0.3) ? [['limit', below(4)]] : []),
      ...(chance(0.2) ? [['offset', below(3)]] : []),
      ...(chance(0.3) ? [['order_by', [[nameOf(other), pick(['asc', 'desc'])]]]] : []),
    ]
    return chance(0.8)
      ? ['from', other.name, ['extract', fields, ...where], ...clauses]
      : ['extract', fields, [`select_${other.name}`, ...where]]
  }

  function condition(entity: Named, depth: number): Json {
    if (chance(0.01)) return constant()
    const { name, type } = fieldOf(entity)
    const operator = pick(chance(0.95) ? operatorsOf(type) : operators)
    const field = chance(0.8)
      ? type === 'json' && chance(0.5)
        ? `${name}${pick(members)}`
        : name
      : nameOf(entity)
    switch (operator) {
      case 'and':
      case 'or':
        return depth > 4
          ? ['=', field, constant(type)]
          : [operator, ...some(4, () => condition(entity, depth + 1))]
      case 'not':
        return depth > 4 ? ['null?', field, true] : ['not', condition(entity, depth + 1)]
      case '~':
        return ['~', field, pick(expressions)]
      case '~>':
        return ['~>', field, some(3, () => (chance(0.3) ? below(3) : pick(expressions)))]
      case 'null?':
        return ['null?', field, chance(0.5)]
      case 'match':
        return [
          'match',
          pick(['*', field, [field, nameOf(entity)]]),
          pick([...texts, 'sea*', '"a b"', 'the sea']),
        ]
      case 'subquery':
        return ['subquery', pick(entities).name, condition(entity, depth + 1)]
      case 'in':
        if (chance(0.4) && depth < 4)
          return ['in', chance(0.7) ? field : [field, nameOf(entity)], inner(depth)]
        return chance(0.8)
          ? ['in', field, ['array', some(5, () => constant(type))]]
          : ['in', [field, nameOf(entity)], ['array', some(3, () => [constant(type), constant()])]]
      default:
        return [operator, field, constant(type)]
    }
  }

  function extract(entity: Named): Json {
    const columns = some(4, () => column(entity))
    const clauses = [
      ...(chance(0.5) ? [['group_by', ...some(3, () => column(entity))]] : []),
      ...(chance(0.3)
        ? [
            [
              'having',
              condition({ ...entity, fields: [...entity.fields, { name: 'count', type: 'integer' }] }, 3),
            ],
          ]
        : []),
      ...(chance(0.3) ? [['distinct']] : []),
    ]
    return [
      'extract',
      chance(0.9) ? columns : column(entity),
      ...(chance(0.6) ? [condition(entity, 0)] : []),
      ...clauses,
    ]
  }

  const write = (json: Json): string => {
    if (json instanceof Exact) return json.text
    if (Array.isArray(json)) return `[${json.map(write).join()}]`
    if (typeof json === 'object' && json !== null)
      return `{${Object.entries(json).map(([key, value]) => `${JSON.stringify(key)}:${write(value)}`)}}`
    return JSON.stringify(json)
  }

  /** Returns the text with some characters changed. */
  function mangled(text: string): string {
    const at = below(text.length + 1)
    return text.slice(0, at) + pick([...'[]{}",:\\ 0ax', '', '\ud800', 'null']) + text.slice(at + below(3))
  }

  const order = (entity: Named) =>
    write(
      some(3, () => ({
        field: nameOf(entity),
        ...(chance(0.5) && { order: pick(['asc', 'desc', 'DESC']) }),
      })),
    )

  /** Returns an address below the query base, with parameters. */
  return () => {
    const entity = pick(entities)
    const query = chance(0.5) ? condition(entity, 0) : extract(entity)
    const atBase = chance(0.15)
    const text = write(atBase ? ['from', entity.name, query] : query)
    const parameters = new URLSearchParams()
    if (chance(0.95)) parameters.set('query', (chance(0.1) ? mangled(text) : text).toWellFormed())
    if (chance(0.3)) parameters.set('order_by', order(entity).toWellFormed())
    if (chance(0.8)) parameters.set('limit', pick(['1', '3', '100', '101']))
    if (chance(0.3)) parameters.set('offset', pick(['0', '1', '5', '9007199254740991']))
    if (chance(0.3)) parameters.set('include_total', 'true')
    if (chance(0.1)) parameters.set('pretty', 'true')
    if (chance(0.15)) parameters.set('explain', pick(['plan', 'analyze']))
    if (chance(0.1)) parameters.set('timeout', pick(['0', '0.001', '10']))
    if (chance(0.02)) parameters.set(pick(['x', 'ast_only', 'summarize_by']), 'true')
    const key = encodeURIComponent(pick([...texts, '1', '1,2', 'item 1', '9,\\\\,', ',']).toWellFormed())
    const below = chance(0.1) ? `/${key}${chance(0.5) ? `/${pick(entities).name}` : ''}` : ''
    const address = atBase ? '/' : `/${entity.name}${below}`
    const accept = pick(['application/json', 'application/x-ndjson', 'text/csv'])
    const [method, type] = below !== '' || chance(0.8) ? ['GET', ''] : pick(posts)
    if (method === 'GET' && type === '')
      return { method, path: `${address}?${parameters}`, headers: { accept }, body: '' }
    const members = Object.fromEntries(parameters)
    const body =
      type === json
        ? JSON.stringify(chance(0.3) ? { ...members, limit: 3, order_by: null } : members)
        : `${parameters}`
    return {
      method,
      path: address,
      headers: { accept, 'content-type': type },
      body: chance(0.1) ? mangled(body) : body,
    }
  }
}

const json = 'application/json'
const form = 'application/x-www-form-urlencoded'
const posts: readonly (readonly [string, string])[] = [
  ['POST', json],
  ['POST', form],
  ['GET', form],
]
