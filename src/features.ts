import { processes } from './admin/processes/statements.ts'
import { attempts } from './authn/attempt-statements.ts'
import { factors } from './authn/factor-statements.ts'
import { alerts } from './dspace/alert-statements.ts'
import { registry } from './dspace/registry-statements.ts'
import { repository } from './items/statements/repository.ts'
import { people } from './people/statements.ts'
import type { AllOffered } from './storage/statements/offered.ts'
import type { Storage } from './storage/statements/parts.ts'

/**
 * The statements of features, each from the room that owns it. Engines and their threads are handed this list, because
 * storage knows no feature.
 */
export const features = { alerts, attempts, factors, people, processes, registry, repository }

/** A store as the service and its commands open it: what every engine has, and the parts of the features. */
export type Store = Storage & AllOffered<typeof features>
