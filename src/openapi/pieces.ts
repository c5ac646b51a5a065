import { hash } from 'node:crypto'
import type { OpenApi } from './document.ts'
import type { EntityParts } from './entity-paths.ts'

/** A document as text, so that what depends on the reader is put in without making the rest again. */
export interface Pieces {
  readonly beforePaths: string
  readonly paths: string
  readonly schemas: string
  readonly afterSchemas: string
  readonly digest: string
}

/** Members of a JSON object without its braces. */
const members = (object: object) => JSON.stringify(object).slice(1, -1)

export function piecesOf({ paths, components, ...first }: OpenApi): Pieces {
  const { schemas = {}, ...others } = components
  const pieces = {
    beforePaths: members(first),
    paths: members(paths),
    schemas: members(schemas),
    afterSchemas: members(others),
  }
  return { ...pieces, digest: hash('sha256', JSON.stringify(pieces), 'base64url') }
}

/** A whole document, ready to be sent. */
export interface Joined {
  readonly etag: string
  readonly body: Buffer
}

export function joined(pieces: Pieces, more: EntityParts): Joined {
  const [paths, schemas] = [members(more.paths), members(more.schemas)]
  const and = (one: string, other: string) => (other === '' ? one : `${one},${other}`)
  return {
    etag: hash('sha256', `${pieces.digest} ${paths} ${schemas}`, 'base64url'),
    body: Buffer.from(
      `{${pieces.beforePaths},"paths":{${and(pieces.paths, paths)}},` +
        `"components":{"schemas":{${and(pieces.schemas, schemas)}},${pieces.afterSchemas}}}`,
    ),
  }
}
