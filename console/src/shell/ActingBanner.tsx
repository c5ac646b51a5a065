import type { JSX } from 'preact'
import { actAs, acting } from '../api.ts'
import { t } from '../i18n/i18n.ts'
import { UserRoundCog } from '../icons.ts'
import { Icon } from '../parts/Icon.tsx'

/** While an administrator acts as somebody else: over every page, so that nobody forgets. */
export function ActingBanner(): JSX.Element | null {
  const person = acting.value
  if (!person) return null
  return (
    <div class="acting" role="status">
      <Icon of={UserRoundCog} size={20} />
      <p>
        {t('acting.as')} <strong>{person.name}</strong>
        {person.reason && <span class="reason"> – {person.reason}</span>}
      </p>
      <button type="button" class="button" onClick={() => actAs(undefined)}>
        {t('acting.end')}
      </button>
    </div>
  )
}
