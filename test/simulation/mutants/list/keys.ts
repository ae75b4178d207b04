import type { Mutant } from '../mutant.js';

const CLAIMS = 'core/idempotency/claims.js';

/** Possible mistakes about idempotency keys. */
export const KEY_MUTANTS: readonly Mutant[] = [
  {
    name: 'digest-not-compared',
    breaks: [11],
    file: CLAIMS,
    find: 'if (existing.digest !== request.digest)',
    replace: 'if (existing.digest === undefined)',
    why: 'A key that comes with another payload is answered as if it were the same request.',
  },
  {
    name: 'key-forgotten-after-its-replay-window',
    breaks: [11],
    file: CLAIMS,
    find: 'removeAt: now + settings.claimRetentionMs,',
    replace: 'removeAt: now + settings.replayWindowMs,',
    why: 'A key that is not replayed any more is removed, so that the request is carried out again.',
  },
  {
    name: 'replay-without-end',
    breaks: [11],
    file: CLAIMS,
    find: 'if (now > existing.createdAt + settings.replayWindowMs)',
    replace: 'if (now > existing.removeAt)',
    why: 'The replay window is taken for the retention of the key.',
  },
  {
    name: 'claim-versions-start-at-one',
    breaks: [11],
    file: CLAIMS,
    find: 'return ids.random(6).reduce((version, byte) => version * 256 + byte, 0);',
    replace: 'ids.random(6); return 1;',
    why: 'A key that was freed and claimed again has the version that a late process knows, which then frees it.',
  },
  {
    name: 'takeover-keeps-the-id',
    breaks: [11, 12],
    file: CLAIMS,
    find: 'const next = { ...fresh, version: existing.version + 1 };',
    replace: 'const next = { ...fresh, subjectId: existing.subjectId, version: existing.version + 1 };',
    why: 'Whoever takes a key over goes on under the id that was just ruled out.',
  },
  {
    name: 'key-shared-by-apps',
    breaks: [11, 17],
    file: 'core/generation/create-generation.js',
    find: "const key = { accountId: caller.accountId, appId: caller.appId, operation: 'create', key: idempotencyKey };",
    replace:
      "const key = { accountId: caller.accountId, appId: caller.accountId, operation: 'create', key: idempotencyKey };",
    why: 'Keys are kept by account alone, so that one App meets the key of another.',
  },
  {
    name: 'target-given-again-after-its-end',
    breaks: [11],
    file: 'core/uploads/prepare-upload.js',
    find: "record.status === 'removing' || context.clock.now() >= record.expiresAt",
    replace: "record.status === 'removing'",
    why: 'A repeated prepare is answered with a signed address that no longer works.',
  },
  {
    name: 'upload-takeover-without-tombstone',
    breaks: [11],
    file: 'core/uploads/prepare-upload.js',
    find: "const outcome = await context.uploads.insert({ kind: 'void', uploadId, accountId, appId, version: 1, createdAt: now, dueAt });",
    replace:
      'const existing = await context.uploads.read(uploadId); const outcome = { inserted: existing === null, existing };',
    why: 'A lapsed key of prepare gets a new upload while the first one may still be inserted.',
  },
];
