/*
 * Goal: a question to a client is answered by the one who was asked or by nobody, never waits longer than its call, and
 * no credential can have the process hold more than a few.
 * Method: the registry alone with a clock that the test moves and calls that the test ends.
 */
import { expect } from 'chai';
import { ANSWER_WITHIN_MS, ClientRequests } from '../../../apps/http/mcp/client-requests.js';
import { TestedCall } from '../../fixtures/cancellation.js';
import { codeOf } from '../../fixtures/refusals.js';
import { ManualClock } from '../../fixtures/manual-clock.js';
import { SeededIds } from '../../fixtures/seeded-ids.js';

describe('requests to MCP clients', () => {
  let clock: ManualClock;
  let requests: ClientRequests;
  let sent: string[];
  beforeEach(() => {
    clock = new ManualClock();
    requests = new ClientRequests({ clock, ids: new SeededIds() });
    sent = [];
  });

  const ask = (
    credentialId: string,
    call = new TestedCall(),
    send: () => Promise<void> = () => Promise.resolve(),
    accountId = `account of ${credentialId}`,
  ) =>
    requests.ask({
      method: 'elicitation/create',
      asked: { credentialId, accountId },
      call,
      send: ({ id }) => {
        sent.push(String(id));
        return send();
      },
    });

  it('are answered by the one who was asked alone, once', async () => {
    const asked = ask('ada');
    requests.take('eve', { id: sent[0] ?? '', result: 'of eve' });
    requests.take('ada', { id: 'another', result: 'of ada' });
    requests.take('ada', { id: sent[0] ?? '', result: 'of ada' });
    requests.take('ada', { id: sent[0] ?? '', result: 'again' });
    expect(await asked).to.equal('of ada');
  });

  it('have no answer after an error, after their time, after their call, and where they cannot be sent', async () => {
    const call = new TestedCall();
    const [failed, late, left] = [ask('ada'), ask('bob'), ask('eve', call)];
    requests.take('ada', { id: sent[0] ?? '' });
    call.end();
    await clock.advance(ANSWER_WITHIN_MS);
    const unsent = await ask('ada', new TestedCall(), () => Promise.reject(new Error('gone')));
    expect([await failed, await late, await left, unsent]).to.deep.equal([undefined, undefined, undefined, undefined]);
    expect(call.listeners).to.equal(0);
  });

  it('are at most eight for a credential, which is no matter to others', async () => {
    const calls = Array.from({ length: 8 }, () => new TestedCall());
    const open = calls.map((call) => ask('ada', call));
    expect(await codeOf(ask('ada'))).to.equal('RATE_LIMITED');
    expect(sent).to.have.length(8);
    const other = ask('bob');
    requests.take('bob', { id: sent[8] ?? '', result: 'of bob' });
    expect(await other).to.equal('of bob');
    for (const call of calls) call.end();
    await Promise.all(open);
  });

  it('are at most a hundred for an account, however many credentials it has, which is no matter to others', async () => {
    const calls = Array.from({ length: 100 }, () => new TestedCall());
    const open = calls.map((call, index) => ask(`key ${index}`, call, undefined, 'one account'));
    expect(await codeOf(ask('another key', new TestedCall(), undefined, 'one account'))).to.equal('RATE_LIMITED');
    const other = ask('bob');
    requests.take('bob', { id: sent[100] ?? '', result: 'of bob' });
    expect(await other).to.equal('of bob');
    for (const call of calls) call.end();
    await Promise.all(open);
  });

  it('are not sent for a call that is over, and take no place', async () => {
    for (let calls = 0; calls < 20; calls += 1) {
      const call = new TestedCall();
      call.end();
      expect(await ask('ada', call)).to.equal(undefined);
    }
    expect(sent).to.deep.equal([]);
  });
});
