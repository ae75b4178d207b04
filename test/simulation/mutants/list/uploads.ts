import type { Mutant } from '../mutant.js';

const COMPLETE = 'core/uploads/complete-upload.js';

/** Possible mistakes about reference files. */
export const UPLOAD_MUTANTS: readonly Mutant[] = [
  {
    name: 'staged-bytes-inspected',
    breaks: [16],
    file: COMPLETE,
    find: 'await inspectCopy(context, upload, objectKey, sha256)',
    replace: 'await inspectCopy(context, upload, upload.stagingKey, sha256)',
    why: 'The bytes that are checked are not the copy, and may be changed between the copying and the check.',
  },
  {
    name: 'type-as-declared',
    breaks: [16],
    file: 'core/uploads/complete-upload.js',
    find: 'if (media.mediaType !== upload.mediaType)',
    replace: 'if (media.mediaType === undefined)',
    why: 'The declared type is believed, whatever the bytes are.',
  },
  {
    name: 'declared-digest-not-checked',
    breaks: [16],
    file: 'core/uploads/complete-upload.js',
    find: 'for (const declared of [upload.declaredSha256, sha256]) {',
    replace: 'for (const declared of [upload.declaredSha256]) {',
    why: 'The checksum that a completion declares is not compared with the bytes.',
  },
  {
    name: 'late-copy-overwrites',
    breaks: [16],
    file: COMPLETE,
    find: "if ((await uploads.replace(ready, copying.version)) === 'conflict') {",
    replace: 'if ((await uploads.replace(ready, copying.version)) === undefined) {',
    why: 'A completion that lost the race against another one answers with a copy that is not on record.',
  },
  {
    name: 'upload-of-another-app',
    breaks: [16],
    file: 'core/generation/quote.js',
    find: "const isOwn = record?.kind === 'upload' && record.accountId === caller.accountId && record.appId === caller.appId;",
    replace: "const isOwn = record?.kind === 'upload' && record.accountId === caller.accountId;",
    why: 'A generation may use whatever its account has uploaded, through another App too.',
  },
  {
    name: 'completed-for-another-account',
    breaks: [16, 17],
    file: 'core/uploads/manage-uploads.js',
    find: 'const isOwn = record?.accountId === accountId && record.appId === appId;',
    replace: 'const isOwn = record !== null;',
    why: 'Whoever knows the id of an upload can complete it and is told what it is.',
  },
  {
    name: 'use-not-marked',
    breaks: [16],
    file: 'core/generation/create-generation.js',
    find: 'await markUsed(context, planned.quote.uploads);',
    replace: 'undefined;',
    why: 'An upload that a generation is about to use is removed when its own retention is over.',
  },
];
