import type { Entity } from '../../model/entities.ts'
import type { RecordEntity } from '../entities.ts'

/** Rows of the list of entities. */
export type EntityRow = { readonly name: string; readonly definition: string }

export const toEntity = ({ name, definition }: EntityRow): Entity => ({
  name,
  ...(JSON.parse(definition) as Omit<Entity, 'name'>),
})

export const definitionOf = ({ name: _, ...definition }: Entity): string => JSON.stringify(definition)

export const isImported = (entity: Entity): entity is RecordEntity => entity.source.kind === 'records'
