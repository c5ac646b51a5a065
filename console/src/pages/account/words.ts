import { t } from '../../i18n/i18n.ts'

/** Returns a login method in words. A provider has the name that the operator gave it. */
export const methodInWords = (method: string): string =>
  method === 'password' ? t('method.password') : method === 'command-line' ? t('method.command-line') : method

export const outcomeInWords = (outcome: string): string =>
  outcome === 'success' ? t('outcome.success') : t('outcome.failure')
