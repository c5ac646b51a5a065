import { accessTokens } from './access-tokens.ts'
import { attempts } from './attempts.ts'
import { clock } from './clock.ts'
import { entities } from './entities.ts'
import { factors } from './factors.ts'
import { identities } from './identities.ts'
import type { AllOffered } from './offered.ts'
import { people } from './people.ts'
import { trail } from './prune-trail.ts'
import { repository } from './repository.ts'
import { sessions } from './sessions.ts'

/**
 * The parts that storage has itself. Each has all methods of its interface, except those that the engines implement
 * in their own ways. Other parts belong to the rooms of their features, and `src/features.ts` lists them.
 */
export const ownParts = {
  accessTokens,
  attempts,
  clock,
  entities,
  factors,
  identities,
  people,
  repository,
  sessions,
  trail,
}

/** The parts that storage has itself, as an engine offers them. */
export type OwnOffers = AllOffered<typeof ownParts>
