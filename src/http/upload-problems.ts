/** The entries of the catalogue (`problems.ts`) for uploads and processes. */
export const uploadProblems = {
  'upload-offset': {
    status: 409,
    title: 'The upload goes on at another offset',
    help: 'Ask `HEAD` of the upload for its Upload-Offset, and send the bytes from there on.',
  },
  'tus-version': {
    status: 412,
    title: 'The version of tus is missing or unknown',
    help: 'Send `Tus-Resumable: 1.0.0` with every request to an upload.',
  },
  'process-state': {
    status: 422,
    title: 'The process is in another state',
    help: 'What has ended can’t be cancelled, what runs can’t be removed, and only some processes can be resumed. The detail says which it is.',
  },
  'upload-in-use': {
    status: 423,
    title: 'The upload is in use',
    help: 'Another request sends this upload, or something is made of it. Try again after the number of seconds in Retry-After.',
  },
  'no-room': {
    status: 507,
    title: 'There is no room for it',
    help: 'The uploads of this eperson, or the disk, can’t take so much. The detail says which limit it is (CARREL_UPLOAD_…). Remove uploads that are not needed any more.',
  },
} as const
