import { computed } from '@preact/signals'
import { entities, isBuiltIn } from './entities.ts'
import { language, tOf } from './i18n/i18n.ts'

/** Sorts entities by the names that are shown, those that this archive defines first. */
export const inOrder = <One extends { readonly name: string }>(list: readonly One[]): readonly One[] =>
  list.toSorted(
    ({ name: one }, { name: other }) =>
      Number(isBuiltIn(one)) - Number(isBuiltIn(other)) ||
      tOf('entity', one).localeCompare(tOf('entity', other), language.value),
  )

/** The entities that this archive defines, for the navigation. */
export const ownEntities = computed(() =>
  inOrder(entities.value ?? []).filter(({ name }) => !isBuiltIn(name)),
)
