import { t } from '../i18n/i18n.ts'
import { toast } from './toast.tsx'

/** Copies a text, and says whether that worked. */
export const copy = (text: string): Promise<void> =>
  navigator.clipboard.writeText(text).then(
    () => toast(t('copied')),
    () => toast(t('failed'), 'bad'),
  )
