import { setting, wholeNumber } from './setting.ts'

/** Settings of uploads and of what is started over HTTP (docs/decisions/0042). */
export const uploadSettings = {
  CARREL_UPLOAD_SIZE: setting(
    'megabytes of a file that is sent, in one piece or in many: a file of an item, an archive, an upload; 1 to 10000000',
    '102400',
    wholeNumber(1, 10_000_000),
  ),
  CARREL_UPLOAD_QUOTA: setting(
    'how much the uploads of one eperson may be together in megabytes, 1 to 10000000',
    '204800',
    wholeNumber(1, 10_000_000),
  ),
  CARREL_UPLOAD_COUNT: setting(
    'how many uploads one eperson may have, 1 to 10000',
    '100',
    wholeNumber(1, 10_000),
  ),
  CARREL_UPLOAD_FREE: setting(
    'how much of the disk of CARREL_DATA uploads leave free in megabytes, 0 to 10000000',
    '1024',
    wholeNumber(0, 10_000_000),
  ),
  CARREL_UPLOAD_LIFETIME: setting(
    'after how many hours without a new byte an upload is removed, 1 to 8760',
    '168',
    wholeNumber(1, 8_760),
  ),
  CARREL_BACKUPS: setting(
    'the folder into which administrators may make backups over HTTP (not set: they may not)',
    null,
    text => text || undefined,
  ),
}
