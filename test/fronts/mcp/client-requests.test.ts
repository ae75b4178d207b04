/*
 * Goal: a question to a client is answered by the one who was asked or by nobody, never waits longer than its call, and
 * no credential can have the process hold more than a few.
 * Method: the registry alone with a clock that the test moves and calls that the test ends.
 */
import { expect } from 'chai';
import { ANSWER_WITHIN_MS, ClientRequests } from '../../../apps/http/mcp/client-requests.js';
import { TestedCall } from '../../fixtures/cancellation.js';
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

  const ask = (credentialId: string, call = new TestedCall(), send: () => Promise<void> = () => Promise.resolve()) =>
    requests.ask({
      method: 'elicitation/create',
      credentialId,
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
    expect(await ask('ada')).to.equal(undefined);
    expect(sent).to.have.length(8);
    const other = ask('bob');
    requests.take('bob', { id: sent[8] ?? '', result: 'of bob' });
    expect(await other).to.equal('of bob');
    for (const call of calls) call.end();
    await Promise.all(open);
  });
});
