import { compareServers } from '../compare.js';
import { UNIQUE } from '../load/requests.js';
import { comparisonLines, type Row } from '../report.js';
import type { Run } from '../run.js';
import { createRequests, imagesRequests, SAMPLE_REQUEST, waitingCreates } from '../servers/sample.js';

const AIM = { text: '≤ 1.3', atMost: 1.3 };

/**
 * Creates over the OpenAI-compatible API beside creates of the same process over the first interface, both answered when the
 * generation has ended. Pictures are addresses, so that no base64 is made.
 */
export async function measureOpenAi(run: Run): Promise<Row[]> {
  const server = await run.startSubject(run.newFolder('openai'));
  await server.child.ask('startWorker', undefined);
  const { secret } = await server.child.ask('createCredential', undefined);
  const { model_key: model, prompt, parameters, client_trace_id: user } = SAMPLE_REQUEST;
  const first = JSON.stringify({ ...SAMPLE_REQUEST, prompt: `${prompt} ${UNIQUE}` });
  const comparison = await compareServers(
    run.load,
    [
      { server, kind: imagesRequests({ model, ...parameters, user, response_format: 'url' }, secret) },
      { server, kind: waitingCreates({ ...createRequests(secret), body: first }) },
    ],
    run.sizes,
  );
  await server.child.stop();
  return [
    { name: 'openai', lines: comparisonLines('create over /v1, not the first', comparison, AIM), figures: comparison },
  ];
}
