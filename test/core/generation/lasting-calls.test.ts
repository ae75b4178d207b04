// Goal: no credential, App, account or crowd of them has more waits and streams in a process than its bound, and places come back.
// Method: places are taken up to each bound, given back in any order and twice.
import { expect } from 'chai';
import { appEvents } from '../../../core/generation/events.js';
import { LastingCalls } from '../../../core/generation/lasting-calls.js';
import { waitForGeneration } from '../../../core/generation/wait-for-generation.js';
import { TestedCall } from '../../fixtures/cancellation.js';
import { codeOf } from '../../fixtures/refusals.js';
import { CoreHarness } from '../../harness/core-harness.js';

const of = (accountId: string, appId: string, credentialId: string) => ({ accountId, appId, credentialId });
const refused = (work: () => unknown): Promise<string | undefined> => codeOf(Promise.resolve().then(work));

describe('calls that last', () => {
  let calls: LastingCalls;
  beforeEach(() => {
    calls = new LastingCalls();
  });

  /** Takes places until there are none, and answers how many there were. */
  function filled(take: (index: number) => (() => void) | undefined, most = 100_000): (() => void)[] {
    const taken: (() => void)[] = [];
    for (let index = 0; index < most; index += 1) {
      try {
        const leave = take(index);
        if (leave === undefined) break;
        taken.push(leave);
      } catch {
        break;
      }
    }
    return taken;
  }

  it('are 5,000 of one credential, waits and streams together, and leave others their places', async () => {
    const one = of('account', 'app', 'one');
    const taken = filled((index) => (index % 2 === 0 ? calls.follow(one) : calls.tryWait(one)));
    expect(taken).to.have.length(5_000);
    expect(calls.tryWait(one)).to.equal(undefined);
    expect(await refused(() => calls.requireRoom(one))).to.equal('RATE_LIMITED');
    calls.requireRoom(of('account', 'app', 'other'));
    taken[0]?.();
    taken[0]?.();
    expect(filled(() => calls.tryWait(one))).to.have.length(1);
  });

  it('are 10,000 of one account, whatever its credentials, and leave others their places', async () => {
    const one = (index: number) => of('account', `app ${index % 7}`, `key ${index % 10}`);
    const taken = filled((index) => calls.tryWait(one(index)));
    expect(taken).to.have.length(10_000);
    expect(await refused(() => calls.follow(one(11)))).to.equal('RATE_LIMITED');
    expect(filled((index) => calls.tryWait(of('other', 'app', `other key ${index % 10}`)))).to.have.length(10_000);
    for (const leave of taken) leave();
    expect(filled((index) => calls.tryWait(one(index)))).to.have.length(10_000);
  });

  it('are 20,000 in all', () => {
    const one = (index: number) => of(`account ${index % 10}`, 'app', `key ${index % 10}`);
    expect(filled((index) => calls.tryWait(one(index)))).to.have.length(20_000);
    expect(calls.tryWait(of('another', 'app', 'another'))).to.equal(undefined);
  });

  it('are 32 streams of one App, whatever its credentials, 256 of one account, and 1,000 of all', async () => {
    const one = (index: number) => of('account', 'app', `key ${index}`);
    const taken = filled((index) => calls.followApp(one(index)));
    expect(taken).to.have.length(32);
    calls.requireRoom(one(0));
    expect(await refused(() => calls.requireRoomForApp(one(0)))).to.equal('RATE_LIMITED');
    const ofAccount = filled((index) => calls.followApp(of('account', `app ${index}`, 'key')));
    expect(ofAccount).to.have.length(256 - 32);
    calls.requireRoom(one(0));
    expect(await refused(() => calls.requireRoomForApp(of('account', 'new app', 'key')))).to.equal('RATE_LIMITED');
    const ofOthers = filled((index) => calls.followApp(of(`account ${index}`, `app ${index}`, `key ${index}`)));
    expect(ofOthers).to.have.length(1_000 - 256);
    for (const leave of [...taken, ...ofAccount]) leave();
    expect(filled((index) => calls.followApp(one(index)))).to.have.length(32);
  });

  it('end with what they are for: a wait beyond the bound answers what there is, a stream is refused', async () => {
    const harness = await CoreHarness.open();
    const { context, caller } = harness;
    const { generationId } = await harness.create();
    const taken = filled(() => context.lastingCalls.tryWait(caller));
    const waits = { waitMs: 60_000 };
    expect((await waitForGeneration(context, caller, generationId, waits)).status).to.equal('queued');
    const until = new TestedCall();
    const events = () => appEvents(context, caller, { beatMs: 1_000, until });
    expect(await codeOf(events().next())).to.equal('RATE_LIMITED');
    for (const leave of taken) leave();
    const stream = events();
    await harness.clock.run(stream.next());
    await stream.return(undefined);
    const waiting = waitForGeneration(context, caller, generationId, waits);
    await harness.clock.advance(60_000);
    await waiting;
    expect(filled(() => context.lastingCalls.tryWait(caller))).to.have.length(5_000);
  });
});
