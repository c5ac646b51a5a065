import type { JSX } from 'preact'
import { t } from '../i18n/i18n.ts'
import { LinkButton } from '../parts/controls.tsx'
import { Page } from '../parts/Page.tsx'

const Missing = (): JSX.Element => (
  <Page title={t('missing')} lead={t('missing.help')}>
    <div class="row">
      <LinkButton label={t('nav.home')} to={''} />
    </div>
  </Page>
)

export default Missing
