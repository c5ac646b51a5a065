import type { JSX } from 'preact'
import { t } from '../i18n/i18n.ts'
import { X } from '../icons.ts'
import { Button, IconButton } from '../parts/controls.tsx'
import { showStep, step, steps } from '../tour.ts'

/** The card of the tour, shown over the page that it explains. */
export function Tour(): JSX.Element | null {
  const at = step.value
  const now = at === undefined ? undefined : steps[at]
  if (at === undefined || !now) return null
  const isLast = at === steps.length - 1
  return (
    <aside class="tour" aria-label={t('tour')}>
      <div class="row spread">
        <span class="kicker">{t('tour.step', { step: at + 1, steps: steps.length })}</span>
        <IconButton
          icon={X}
          label={t('tour.end')}
          onClick={() => {
            step.value = undefined
          }}
        />
      </div>
      <div class="steps" aria-hidden="true">
        {steps.map(({ title }, index) => (
          <i key={title} class={index <= at ? 'done' : ''} />
        ))}
      </div>
      <div role="status">
        <h2>{t(now.title)}</h2>
        <p class="soft">{t(now.text)}</p>
      </div>
      <div class="row">
        {at > 0 && <Button label={t('back')} onClick={() => showStep(at - 1)} />}
        <Button
          look="primary"
          label={isLast ? t('tour.end') : t('tour.next')}
          onClick={() => showStep(isLast ? undefined : at + 1)}
        />
      </div>
    </aside>
  )
}
