import { type Mutant, mutantsIn } from '../mutant.js';

/** Possible mistakes about deletions by clients, and what must be deleted with them. */
export const DELETION_MUTANTS: readonly Mutant[] = mutantsIn(`
deleted-before-it-was-charged: 9 26, core/generation/decide.js, seed 21
Whoever deletes a picture between its end and its charge has it for nothing.
- if (g.settledAt === undefined) return { refused: 'NOT_ALLOWED' };
+

deleted-with-what-was-asked-for: 9 26, core/generation/decide.js, seed 5
The prompt stays in the record until somebody completes the deletion.
- { ...emptied(g), deletedAt: at
+ { ...g, deletedAt: at

deleted-record-before-its-outputs: 26, core/generation/end-generation.js, seed 5
The outputs stay in the object store, and nothing knows of them any more.
- await removeOutputs(context, marked.generationId, writtenBy(marked));
+

deletion-not-completed: 9 26, core/recovery/recover.js, seed 15
A deletion whose process died leaves the outputs until their retention is over.
- if (g.deletedAt !== undefined) return completeDeletion(context, g);
+

used-upload-deleted: 16 26, core/uploads/manage-uploads.js, seed 34
The reference of a generation that still has to run is removed.
- if (upload.lastUsedAt !== undefined)
+ if (upload.uploadId === undefined)

deleted-upload-keeps-its-bytes: 26, core/uploads/manage-uploads.js, seed 7
The record goes, and the picture stays.
- if (key !== undefined) await objects.remove(key);
+ if (key === undefined) await objects.remove(key);

deleted-upload-forgets-its-target: 16, core/uploads/manage-uploads.js, seed 7
Bytes that are sent to the target after the deletion are never removed.
- if (now < again) {
+ if (now < 0) {
`);

/** Possible mistakes about reference files. */
export const UPLOAD_MUTANTS: readonly Mutant[] = mutantsIn(`
staged-bytes-inspected: 16, core/uploads/complete-upload.js, seed 10
The bytes that are checked are not the copy, and may be changed between the copying and the check.
- await inspectCopy(context, upload, objectKey, sha256)
+ await inspectCopy(context, upload, upload.stagingKey, sha256)

type-as-declared: 16, core/uploads/complete-upload.js, seed 6
The declared type is believed, whatever the bytes are.
- if (media.mediaType !== upload.mediaType)
+ if (media.mediaType === undefined)

declared-digest-not-checked: 16, core/uploads/complete-upload.js, seed 8
The checksum that a completion declares is not compared with the bytes.
- for (const declared of [upload.declaredSha256, sha256]) {
+ for (const declared of [upload.declaredSha256]) {

late-copy-overwrites: 16, core/uploads/complete-upload.js, seed 6
A completion that lost the race against another one answers with a copy that is not on record.
- if ((await uploads.replace(ready, copying.version)) === 'conflict') {
+ if ((await uploads.replace(ready, copying.version)) === undefined) {

upload-of-another-app: 16, core/generation/quote.js, seed 13
A generation may use whatever its account has uploaded, through another App too.
- const isOwn = record?.kind === 'upload' && record.accountId === caller.accountId && record.appId === caller.appId;
+ const isOwn = record?.kind === 'upload' && record.accountId === caller.accountId;

completed-for-another-account: 16 17, core/uploads/manage-uploads.js, seed 8
Whoever knows the id of an upload can complete it and is told what it is.
- const isOwn = record?.accountId === accountId && record.appId === appId;
+ const isOwn = record !== null;

use-not-marked: 16, core/generation/create-generation.js, seed 3
An upload that a generation is about to use is removed when its own retention is over.
- await markUsed(context, quote.uploads);
+ undefined;
`);

/** Possible mistakes about the content and the order of webhooks. */
export const WEBHOOK_MUTANTS: readonly Mutant[] = mutantsIn(`
settled-before-it-was-announced: 27, core/generation/settle-generation.js, seed 1
Recovery looks at what lacks the mark: an end that is not announced before it is lost with the process.
- await Promise.all([paid, announceState(context, generation)]); const retention = retentionOf(generation, context.settings); const changed = await
- tryChange(context, generation, { event: 'settle', ...retention });
+ await paid; const retention = retentionOf(generation, context.settings); const changed = await tryChange(context, generation, { event: 'settle',
+ ...retention }); await announceState(context, generation);

two-send-a-delivery-at-once: 27, core/webhooks/decide.js, seed 157
A start that is still on its way arrives after the end that another process has sent.
- return lease !== undefined && lease.expiresAt > now && !isFarAhead(lease.startedAt, now);
+ return false;

refused-message-counts-as-delivered: 27, core/webhooks/send-delivery.js, seed 8
What a receiver answers with an error is never sent again.
- status >= 200 && status < 300
+ status >= 200

start-and-end-under-one-message-id: 27, core/webhooks/delivery.js, seed 5
A receiver that remembers ids takes the end for the start, which it has seen.
- digests.ofJson(['message', deliveryId, event])
+ digests.ofJson(['message', deliveryId])

end-not-announced-over-a-start: 27, core/webhooks/decide.js, seed 2
An endpoint that was told of the start has its delivery, and is never told of the end.
- if (!isLater(command.of, d.event)) return { refused: 'NOTHING_TO_DO' };
+ return { refused: 'NOTHING_TO_DO' };

start-that-was-taken-ends-the-delivery: 27, core/webhooks/decide.js, seed 7
The end was announced while the start was sent, and the success of that counts for both.
- if (event !== d.event || lease.isReplayed) return { next: isOpen(d) ? { ...ended, nextAttemptAt: now } : ended };
+

lost-wake-up-of-a-delivery-stays-lost: 27, core/recovery/recover.js, seed 17
A delivery whose process died waits for a wake-up that nobody sends.
- wakeDelivery(context, delivery, now); return 'woken';
+ return 'woken';
`);

/** Possible mistakes in events for followers, and in reports of use. */
export const READER_MUTANTS: readonly Mutant[] = mutantsIn(`
end-between-two-looks-not-told: 23, core/generation/watch.js, seed 14
What was open at one look and is not at the next has ended, and nobody reads how.
- const gone = [...app.open].filter((id) => !now.has(id));
+ const gone = [].values();

told-before-it-is-durable: 23, core/generation/watch.js, seed 32
A follower hears of an end that the store refuses, or never gets.
- const outcome = await store.replace(next, expectedVersion);
+ written(next); const outcome = await store.replace(next, expectedVersion);

stream-resumed-from-its-new-beginning: 23, core/generation/events.js, seed 5
What happened while the line was cut is not told.
- this.from = Math.max(completeTo, startedAt - RESUMED_FOR_MS) - REACH_MS;
+ this.from = startedAt;

resumed-stream-looks-at-late-creations-only: 23, core/generation/events.js, seed 14
What was created before the line was cut, and ended while it was, is not looked at.
- from - Math.max(0, ...lives) - BEYOND_RUN_MS
+ from + REACH_MS

older-version-told-after-a-newer-one: 23, core/generation/events.js, seed 270
A look that began before a write comes after it.
- if (version <= (known?.version ?? -1)) return [];
+

use-counted-again-after-a-conflict: 28, core/usage/usage.js, seed 172
A row that has taken an entry in takes it in again with the next batch.
- if (entry.sequence <= row.lastSequence) return row;
+

account-ahead-of-its-rows: 28, core/usage/project-usage.js, seed 8
A process that dies in between leaves entries that no row ever takes in.
- if (changes.length > 0 && (await ports.usage.apply(changes)) === 'conflict') return 'conflict';
+ await ports.usage.apply([{ row: entries.reduce((sums, [entry]) => withEntry(sums, entry), whole), expectedSequence: whole.lastSequence }]); if
+ (changes.length > 0 && (await ports.usage.apply(changes)) === 'conflict') return 'conflict';
`);

/** Possible mistakes about who may see and do what. */
export const ACCESS_MUTANTS: readonly Mutant[] = mutantsIn(`
readable-by-another-app: 17, core/generation/read-generations.js, seed 6
A generation can be read and cancelled by every App of its account.
- const isOwn = record !== null && record.accountId === caller.accountId && record.appId === caller.appId;
+ const isOwn = record !== null && record.accountId === caller.accountId;

foreign-id-told-apart: 17, core/generation/read-generations.js, seed 3
Somebody else's id is refused with a code of its own, which tells that it exists.
- if (!isOwn || record.kind === 'void')
+ if (record && !isOwn) throw new ServiceError('DEVELOPER_SCOPE_INSUFFICIENT'); if (!isOwn || record.kind === 'void')

revocation-never-seen: 18, core/access/authenticate.js, seed 1
A credential that was read once is trusted for an hour, milliseconds taken for seconds.
- export const CREDENTIAL_CACHE_MS = 3_000;
+ export const CREDENTIAL_CACHE_MS = 3_000_000;

hold-on-a-suspended-account: 18, core/credits/decide.js, seed 101
Only authentication looks at a suspension, and what it remembers of a key lets a request slip past.
- if (account.suspendedAt !== undefined) return { refused: 'ACCOUNT_SUSPENDED' };
+

suspension-not-authenticated: 18, core/access/authenticate.js, seed 14
A key of a suspended account still reads and cancels, since only what spends is refused.
- isSuspended: account?.suspendedAt !== undefined
+ isSuspended: false
`);

/** Possible mistakes about programs that people have connected. */
export const PROGRAM_MUTANTS: readonly Mutant[] = mutantsIn(`
ended-grant-still-taken: 18, core/people/grants.js, seed 5
A token is taken until it expires, although its person has ended the connection.
- token.endedAt !== undefined || grant.endedAt !== undefined ||
+

cap-of-a-grant-forgotten: 24, core/access/authenticate.js, seed 5
A program may spend all that the account has, whatever its person allowed.
- ...(capCredits === undefined ? {} : { cap: { credits: capCredits, per: 'life' } }),
+

cap-of-a-grant-by-month: 24, core/access/authenticate.js, seed 13
A program may spend as much as its person allowed in each month, and not once.
- ...(capCredits === undefined ? {} : { cap: { credits: capCredits, per: 'life' } }),
+ ...(capCredits === undefined ? {} : { cap: { credits: capCredits, per: 'month' } }),

scope-ticked-without-being-asked-for: 22, core/people/grants.js, seed 1
A form that the person's browser sends names more than the program asked for.
- wanted.asked.includes(scope) && wanted.ticked.includes(scope)
+ wanted.ticked.includes(scope)

scope-granted-without-a-tick: 22, core/people/grants.js, seed 1
A program gets all that it asked for.
- wanted.asked.includes(scope) && wanted.ticked.includes(scope)
+ wanted.asked.includes(scope)

default-with-every-scope: 22, core/people/grants.js, seed 4
A program that names no scope that exists asks for all of them.
- scopes: DEFAULT_SCOPES, isDefault: true
+ scopes: SCOPES, isDefault: true

token-with-more-than-its-grant: 22, core/people/grants.js, seed 1
A token has the scopes that it was made with, whatever its person allowed.
- knownScopes(typeof scope === 'string' ? scope : '').filter((known) => grant.scopes.includes(known))
+ knownScopes(typeof scope === 'string' ? scope : '')

program-outlives-a-reset: 22, core/people/manage-people.js, seed 4
A reset signs the person out, and leaves the programs that somebody else may have connected.
- passkeys: [], sessionEpoch: ports.ids.uuid(), grantEpoch: ports.ids.uuid()
+ passkeys: [], sessionEpoch: ports.ids.uuid()

grant-of-a-session-that-a-reset-ended: 22, core/people/grants.js, seed 4
A grant that is made while its person is reset belongs to no epoch, and lives.
- person.grantEpoch === epoch
+ (epoch === undefined || person.grantEpoch === epoch)

further-exchange-taken-by-all: 22, core/people/refresh-tokens.js, seed 1
Processes that refresh at the same time find the same further exchange free.
- (await artefacts.put(further)) === 'kept' && (await artefacts.consume(further, now)) === 'consumed'
+ (await artefacts.put(further)) === 'kept'

one-further-exchange-too-many: 22, core/people/refresh-tokens.js, seed 2
The first exchange is not counted among the four.
- export const MAX_FURTHER_EXCHANGES = 3;
+ export const MAX_FURTHER_EXCHANGES = 4;

grace-without-an-end: 22, core/people/refresh-tokens.js, seed 8
A stolen refresh token can be used at any time.
- now - consumedAt <= REFRESH_GRACE_MS
+ true

family-outlives-a-theft: 22, core/people/refresh-tokens.js, seed 1
A token that is used too late is refused, and the thief keeps the others.
- await endGrant(ports, token.group);
+
`);
