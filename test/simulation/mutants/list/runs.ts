import { type Mutant, mutantsIn } from '../mutant.js';

/** Possible mistakes about a generation's states, and about what they cost. */
export const STATE_MUTANTS: readonly Mutant[] = mutantsIn(`
fence-not-checked: 14, core/generation/decide.js, seed 27
Any lease is good enough to write with, the one of an overtaken worker too.
- if ('fence' in command && generation.lease?.fence !== command.fence)
+ if ('fence' in command && generation.lease === undefined)

fence-does-not-grow: 14, core/generation/decide.js, seed 1
A lease that is taken over keeps its number, so that the former holder passes for the new one.
- const fence = g.fence + 1;
+ const fence = Math.max(1, g.fence);

live-lease-taken-over: 14, core/generation/decide.js, seed 1
Whoever is woken takes the lease, whether or not somebody else works under it.
- if (!mayBeTakenOver(g, occasion.now, occasion.boot)) return { refused: 'LEASE_HELD' };
+

live-lease-expired: 14, core/generation/decide.js, seed 24
A deadline that has passed ends the generation under the hands of the worker that still holds it.
- if (hasLiveLease(g, now, boot)) return { refused: 'LEASE_HELD' }; if (mayHaveResult(g)
+ if (mayHaveResult(g)

conflict-keeps-the-old-state: 7 10, core/generation/settle-generation.js, seed 2
After a lost race only the version is read anew, and what the other process wrote is overwritten.
- current = newest; } throw changedTooOften();
+ current = { ...current, version: newest.version }; } throw changedTooOften();

version-does-not-grow: 7, core/generation/decide.js, seed 1
A write leaves the version as it was, so that two of them do not see each other.
- version: generation.version + 1 }
+ version: generation.version }

running-cancelled-at-once: 7 15, core/generation/decide.js, seed 2
A running generation ends on request, while its provider still works on it.
- 'cancel': 'running',
+ 'cancel': 'cancelled',

late-success-is-charged: 7 15, core/generation/decide.js, seed 64
The provider did the work after all, so its price is written to a generation that has ended.
- { next: { ...g, lateReport: { state: command.state, at } } };
+ { next: { ...g, chargedCredits: g.reservedCredits, lateReport: { state: command.state, at } } };

part-delivered-costs-all: 3, core/generation/decide.js, seed 7
A success costs what was reserved, however much of it was delivered.
- return Math.min(reservedCredits, credits);
+ return outputs.length === 0 ? 0 : reservedCredits;

floor-for-what-was-never-submitted: 3 10, core/generation/decide.js, seed 13
The least that a cancelled generation costs is charged although no provider ever had it.
- g.attempt?.phase === 'submitted' && !hasFailed ? g.terms.cancelFloorCredits : 0;
+ !hasFailed ? g.terms.cancelFloorCredits : 0;

floor-for-a-failed-task: 3, core/generation/decide.js, seed 22
A task that failed by itself while it was being cancelled is charged as if it had been stopped.
- g.attempt?.phase === 'submitted' && !hasFailed ? g.terms.cancelFloorCredits : 0;
+ g.attempt?.phase === 'submitted' ? g.terms.cancelFloorCredits : 0;

failure-costs-the-floor: 3 7, core/generation/decide.js, seed 7
A failure after the provider had begun is charged like a cancellation.
- case 'fail': return { next: { ...g, error: command.error } };
+ case 'fail': return { next: { ...g, error: command.error, chargedCredits: g.attempt ? g.terms.cancelFloorCredits : 0 } };

updated-at-by-the-raw-clock: 8 12, core/generation/decide.js, seed 13
What clients see of time follows a clock that may be behind another one; only an assertion stands behind it.
- const at = Math.max(now, generation.updatedAt);
+ const at = now;

no-run-deadline: 6 9, core/generation/decide.js, seed 1
A start forgets to say until when the generation may run.
- beginAttempt({ ...g, runDeadlineAt: occasion.now + g.terms.runTimeoutMs }, command, occasion);
+ beginAttempt(g, command, occasion);

poll-hint-only-while-running: 9, core/generation/read-generations.js, seed 1
A queued generation is shown without the time at which to ask again.
- const isOpen = generation.completedAt === undefined;
+ const isOpen = generation.status === 'running';
`);

/** Possible mistakes while a worker runs a generation. */
export const RUN_MUTANTS: readonly Mutant[] = mutantsIn(`
wake-ups-dropped: 12 20, core/generation/run/dispatcher.js, seed 4
A worker takes a wake-up for done, and runs nothing.
- deliver(generationId) { return this.accept(generationId); }
+ deliver(generationId) { return this.runs.has(generationId) ? this.accept(generationId) : Promise.resolve(); }

overtaker-submits-without-asking: 5, core/generation/run/lease.js, seed 2
An attempt that another worker may have handed over is handed over again without asking the provider.
- { generation, leasedAt, ...execution, isFresh: false };
+ { generation, leasedAt, ...execution, isFresh: true };

unknown-acceptance-resubmitted: 5, core/generation/run/next-step.js, seed 7
A model that forbids to submit twice is submitted twice when its provider cannot tell.
- answer === 'unsupported' && !rules.mayResubmit ? { do: 'end-attempt', failure: failure('PROVIDER_UNAVAILABLE', false, UNKNOWN_OUTCOME) }
+ answer === 'unsupported' && !rules.mayResubmit ? { do: 'end-attempt', failure: failure('PROVIDER_UNAVAILABLE', true, UNKNOWN_OUTCOME) }

resubmitted-after-one-not-found: 21 5, core/generation/run/run-state.js, seed 10
A provider that states once that it does not have the task is believed.
- return later.some(({ askedAt }) => askedAt >= againAt) ? monotonic : Math.max(againAt, monotonic + 1);
+ return monotonic;

not-found-believed-at-once: 21 5, core/generation/run/run-state.js, seed 31
A request that was still on its way when its call ended arrives after the task was submitted again.
- return statedTwiceAt(state.notFound.filter(({ askedAt }) => askedAt >= settledAt), settledAt, time, rules);
+ return statedTwiceAt(state.notFound, settledAt, time, rules);

cost-of-an-undone-attempt-lost: 5, core/generation/decide.js, seed 33
What a provider says that a refused task costs is forgotten with the attempt.
- const undone = undoAttempt(g, command);
+ const { costs: _, ...bare } = g; const undone = undoAttempt(bare, command);

attempt-used-up-by-capacity: 5, core/generation/decide.js, seed 22
A provider that is full uses up the attempts of a generation.
- { next: { ...withoutUnsentAttempt(g), ...refusedBy } }
+ { next: { ...withoutAttempt(g), ...refusedBy } }

delivered-attempt-submitted-again: 5 21, core/generation/run/next-step.js, seed 2
A worker that takes over what was delivered with the answer has it made once more.
- attempt?.delivered === undefined ? undefined : { do: 'inspect', delivered: attempt.delivered }
+ attempt?.delivered === undefined ? undefined : { do: 'submit', attempt }

route-switched-on-unknown-acceptance: 5 21, core/generation/run/next-step.js, seed 12
A provider that does not say whether it has the task is passed by for the next one.
- isSilence(answer) ? restWhileSilent(situation, answer, situation.state.unknownRounds) : undefined
+ isSilence(answer) ? { do: 'undo', retryAt: situation.time.now, isNotHere: true } : undefined

result-asked-of-the-first-provider: 9 12 25, core/generation/run/executions.js, seed 35
What another provider of the route makes is looked for at the first one.
- providerName !== providerOf(attempt, model)
+ providerName !== route[0]?.provider

lost-lease-continued: 14 16, core/generation/run/lease.js, seed 2
A worker that lost its lease goes on with the version that it lost it to, and writes under the next fence.
- get generation() { this.throwIfLost(); return this.current; }
+ get generation() { return this.current; }

run-goes-past-its-deadline: 6 20, core/generation/run/next-step.js, seed 17
A worker that holds the lease goes on resting when the deadline is over.
- isLate(g, time) && !mayHaveResult(g) ? timeOut(g, state) : undefined
+ isLate(g, time) && !mayHaveResult(g) ? { do: 'rest', ms: 600_000 } : undefined

delivered-before-a-stop-is-dropped: 3, core/generation/run/next-step.js, seed 7
What a provider had finished before it stopped is neither delivered nor charged.
- { do: 'finish', command: { event: 'stop', outputs } }
+ { do: 'finish', command: { event: 'stop', outputs: [] } }

place-never-given-back: 20, core/generation/run/dispatcher.js, seed 8
A slot of the model is lost whenever there was nothing to take.
- giveUp(slot); return taken?.needsRoom;
+ slot.entry?.release(); return taken?.needsRoom;

room-at-a-provider-never-given-back: 20, core/generation/run/dispatcher.js, seed 7
A provider with a limit is full for ever once it has made as many as it may at a time.
- else entry.release();
+

accounts-do-not-take-turns: 20, core/generation/run/model-slots.js, seed 50
The account that came first stays first in line for as long as it has something waiting.
- line.delete(accountId); if (waiting.length > 0) line.set(accountId, waiting);
+ if (waiting.length === 0) line.delete(accountId);

take-overs-wait-their-turn: 20, core/generation/run/model-slots.js, seed 20
A run that lost its worker waits for room, though it needs none, until its deadline is over.
- if (providers.length === 0) return this.finishing;
+

outputs-of-any-kind-delivered: 9, core/generation/run/collect-outputs.js, seed 22
Whatever decodes is delivered and charged, a picture for a video too.
- if (facts.kind !== g.modality)
+ if (false)

workers-share-output-keys: 9 16, core/generation/run/collect-outputs.js, seed 15
An overtaken worker writes over, or removes, what the next one has delivered.
- return \`outputs/\${generationId}/\${fence}/\${index}\`;
+ return \`outputs/\${generationId}/\${index}\`;

sent-attempt-forgotten-on-a-stop: 5, core/generation/decide.js, seed 18
A worker that goes away hands back an attempt that it had handed over as if nobody had it.
- command.isUnsent ? withoutUnsentAttempt(g) : g
+ withoutUnsentAttempt(g)

forgotten-task-made-again: 21 5, core/generation/run/next-step.js, seed 10
A provider that knows a task no more is given it again, though the model forbids to have it made twice.
- failure: failure('PROVIDER_UNAVAILABLE', rules.mayResubmit, FORGOTTEN)
+ failure: failure('PROVIDER_UNAVAILABLE', true, FORGOTTEN)

failed-download-bought-again: 21, core/generation/run/next-step.js, seed 22
A result that could not be fetched four times is thrown away, and another one is bought.
- const { failedCollections, isStoreAway } = situation.state;
+ const { failedCollections, isStoreAway } = situation.state; if (!isStoreAway && failedCollections >= 4) return { do: 'end-attempt', failure:
+ failure('OUTPUT_INVALID', true) };

unusable-output-bought-again: 21, core/generation/run/next-step.js, seed 10
A complete file that cannot be used is bought again, though the model forbids it.
- failure('OUTPUT_INVALID', rules.mayReplaceOutputs)
+ failure('OUTPUT_INVALID', true)

other-size-thrown-away: 9 21, core/generation/run/collect-outputs.js, seed 49
A usable output of another size than was asked for is thrown away.
- difference !== undefined && model.onOtherSize === 'refuse'
+ difference !== undefined

other-size-delivered-anyway: 9, core/generation/run/collect-outputs.js, seed 31
An output of another size is delivered, though the model refuses it.
- difference !== undefined && model.onOtherSize === 'refuse'
+ false

priced-by-the-request: 3, core/generation/decide.js, seed 85
An output of another size costs what the one that was asked for would have cost.
- const credits = measuredRate === undefined
+ const credits = true

silent-polls-end-the-task: 21, core/generation/run/next-step.js, seed 18
Polls without a report end a task that the provider goes on with, and another one is bought.
- isSilence(report) ? restWhileSilent(situation, report, situation.state.silentPolls) : undefined
+ isSilence(report) ? situation.state.silentPolls >= 3 ? { do: 'end-attempt', failure: failure('PROVIDER_UNAVAILABLE', true) } :
+ restWhileSilent(situation, report, situation.state.silentPolls) : undefined

unknown-status-taken-for-a-failure: 21, core/generation/run/next-step.js, seed 10
A status that is not known counts as a failure, and the task is bought again.
- report.state === 'running' ? rest(
+ report.state === 'running' ? report.unknownStatus !== undefined ? { do: 'end-attempt', failure: failure('PROVIDER_REJECTED', true) } : rest(

forgotten-believed-at-once: 21, core/generation/run/run-state.js, seed 10
A provider that states once that it no longer has a task is believed, and the task is bought again.
- return statedTwiceAt(forgotten, time.monotonic, time, { settleMs });
+ return time.monotonic;

no-last-poll: 20, core/generation/run/next-step.js, seed 3
A result that became ready while nobody could collect it is lost at the deadline.
- isLate(g, time) && g.lastPollBy === undefined ? { do: 'allow-last-poll' } : undefined
+ isLate(g, time) && g.lastPollBy === undefined ? timeOut(g, {}) : undefined

expired-without-a-last-poll: 20, core/generation/decide.js, seed 1960
Recovery ends a generation whose provider may have the result, and nobody looks once more.
- if (mayHaveResult(g) && (g.lastPollBy === undefined || now <= g.lastPollBy))
+ if (false)

last-period-without-end: 6 20, core/generation/run/next-step.js, seed 22
Downloads after the deadline are tried for ever.
- time.now > runEndsAt(g) ? timeOut(g, state) : undefined
+ undefined

submissions-not-counted: 21, core/generation/decide.js, seed 4
Submissions of one attempt that may have been taken count as one.
- isNotTaken ? g : { ...g, submissionsMade: submissionsMadeOf(g) + 1 }
+ g

submissions-counted-per-run: 21, core/generation/decide.js, seed 4
An attempt is submitted as often as its run likes.
- return submissionsMadeOf(g) < g.terms.maxAttempts;
+ return g.attempt !== undefined || submissionsMadeOf(g) < g.terms.maxAttempts;

lease-held-by-the-wall-clock-alone: 14, core/generation/run/lease.js, seed 13
A process whose clock was set back submits under a lease that another worker may have.
- this.heldUntil = leasedAt + context.settings.leaseMs;
+ this.heldUntil = Infinity;
`);

/** Possible mistakes where processes share the limits of a provider. */
export const SHARE_MUTANTS: readonly Mutant[] = mutantsIn(`
slots-of-others-not-seen: 25, core/providers/provider-use.js, seed 7
Each worker has as many tasks at a provider as all of them may have together.
- const free = Math.max(0, maxConcurrent - others.reduce((sum, { slots }) => sum + slots, 0));
+ const free = maxConcurrent;

lapsed-slots-given-out-at-once: 25, core/providers/provider-shares.js, seed 1
The slots of a worker are given to another one while a submission of the first is on its way.
- if (at.monotonic < one.since + SHARE_MS + longestCallMs)
+ if (at.monotonic < one.since + 2_000)

submissions-not-taken-from-the-bucket: 25, core/providers/provider-use.js, seed 10
Submissions that a worker was given are given out again.
- thousandths: thousandths - 1_000 * submissions
+ thousandths

bucket-refilled-far-too-fast: 25, core/providers/provider-use.js, seed 14
A minute sees more submissions than the limit says.
- Math.floor((now - refilledAt) * rate)
+ Math.floor(4 * (now - refilledAt) * rate)

room-not-looked-at-before-a-submission: 25, core/generation/run/submit-attempt.js, seed 70
A worker submits with what it was given when the run began, and a task that it took over without a slot.
- if (!of.entry.maySubmit()) return 'no-room';
+

room-given-back-while-the-task-goes-on: 25, core/generation/run/dispatcher.js, seed 9
A run that ends because the store does not answer frees the slot of a task that goes on at the provider.
- if (end === 'abandoned') this.orphaned.keep(run.lastKnown, entry); else entry.release();
+ entry.release();

lost-race-for-a-share-taken-for-won: 25, core/providers/provider-shares.js, seed 14
A worker uses slots that another one was given meanwhile.
- if ((await providerUses.replace(given.next, stored?.version ?? 0)) === 'conflict') continue;
+ await providerUses.replace(given.next, stored?.version ?? 0);

tasks-of-earlier-processes-not-counted: 25, core/recovery/earlier-tasks.js, seed 241
With exclusive stores the shares of a process that was killed are void, and its tasks take no place.
- this.count(generation, provider);
+ ;

submits-before-earlier-tasks-are-counted: 25, core/providers/provider-gates.js, seed 644
A process with exclusive stores submits while the list of what is at the provider is still read.
- return this.limits.maxConcurrent !== undefined && !this.options.hasCounted();
+ return false;
`);

/** Possible mistakes and omissions of recovery. */
export const RECOVERY_MUTANTS: readonly Mutant[] = mutantsIn(`
hold-released-without-ruling-out: 4 12, core/recovery/recover.js, seed 20
A hold without a generation is released while the generation may still be inserted.
- const standing = known ?? (await voidGeneration(context, { generationId, accountId, appId: '' }));
+ const standing = known ?? { kind: 'void' };

lost-hold-never-released: 6, core/recovery/recover.js, seed 44
The id of a create that was cut is ruled out, and its hold forgotten.
- await context.accountWriter.execute(accountId, { kind: 'settle', generationId, charge: 0 }); return 'released';
+ return 'released';

tombstone-goes-at-once: 4 11, core/generation/create-generation.js, seed 204
A tombstone is taken for rubbish, and a slow create finds its id free again.
- dueAt: now + settings.tombstoneRetentionMs };
+ dueAt: now };

ended-not-settled: 4 6, core/recovery/recover.js, seed 1
Recovery leaves settling to the worker that ended the generation, which may be gone.
- await settleGeneration(context, record); return 'settled';
+ return 'settled';

nobody-is-woken: 12, core/recovery/recover.js, seed 4
A lost wake-up is noticed and not sent again.
- if (mayBeTakenOver(g, now, context.boot)) wakeAgain(context, g);
+

queued-never-given-up: 6 20, core/generation/run/executions.js, seed 33
What waits for a place past its deadline is left to the worker that has no place for it.
- if (context.clock.now() <= deadlineOf(g)) return null;
+ if (g.status === 'queued' || context.clock.now() <= deadlineOf(g)) return null;

outputs-removed-when-looked-at: 9 16, core/recovery/recover.js, seed 27
Whatever recovery looks at once it is settled is taken to be past its retention.
- if (mayHaveOutputs(g) && now >= outputsExpireAt) {
+ if (mayHaveOutputs(g)) {

content-removed-when-looked-at: 7, core/recovery/recover.js, seed 53
The content of whatever recovery looks at once it is settled goes at once, when nothing was charged.
- if (hasUnchargedContent(g) && now >= contentExpiresAt && now < taskExpiresAt) {
+ if (hasUnchargedContent(g) && now < taskExpiresAt) {

target-swept-while-it-is-good: 16, core/uploads/upload.js, seed 1
What was sent to a target is removed before it can be completed.
- return expiresAt + settings.claimLeaseMs + settings.recoveryGraceMs;
+ return expiresAt - settings.uploadRetentionMs;

leap-of-the-clock-believed: 7 11 16, core/recovery/recover.js, seed 12
A clock that is hours ahead for a moment has retention remove what nobody can bring back.
- if (hasLeapt)
+ if (hasLeapt && this.lastPassAt === 0)
`);

/** Possible mistakes about processes that are gone. */
export const BOOT_MUTANTS: readonly Mutant[] = mutantsIn(`
boot-void-on-shared-store: 11 14, core/boot.js, seed 5
Whoever has another boot is taken for gone, though other processes share the store.
- return boot.isExclusive && bootId !== boot.id;
+ return bootId !== boot.id;

submitting-not-waited: 5 14, core/generation/decide.js, seed 21
What a process that is gone was about to hand over is taken over before it can have arrived.
- return !(g.attempt?.phase === 'submitting' && hasTimeLeft(g, now));
+ return true;

gone-boot-waited-for: 12 20, core/boot.js, seed 20
Leases and claims of a process that is known to be gone are waited for.
- return boot.isExclusive && bootId !== boot.id;
+ return false;

cut-runs-not-resumed: 20, core/recovery/recover.js, seed 20
A start leaves what was running to recovery, which looks when leases have lapsed.
- await resumeRuns(this.context, this.takeOver, () => !this.isStopped);
+

cut-claims-waited-for: 12, core/idempotency/claims.js, seed 55
A retry is told to wait for a request whose process is gone.
- !isLeftByAnother(boot, bootId) && leaseExpiresAt > now
+ leaseExpiresAt > now
`);
