// Goal: a service in another language that has only our proto files can do everything that REST can, and reads refusals
// with its own library's types.
// Method: clients in other languages, their types newly generated and built, run a scenario against the real program;
// what each received is compared with what the scenario must return, and with what REST returns for the same
// generations and accounts. A language whose toolchain is missing is skipped with a message.
import { fromJson } from '@bufbuild/protobuf';
import { status as Status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OPERATOR_SCOPES } from '../../apps/grpc/callers.js';
import { ModelSchema } from '../../apps/grpc/generated/darkroom/v1/catalog_pb.js';
import { GenerationSchema } from '../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { SCOPES } from '../../core/access/credential.js';
import type { Json, JsonObject } from '../../core/json.js';
import { image } from '../fixtures/images.js';
import { modelOf, taskOf } from '../fronts/grpc/messages.js';
import { freePort } from '../servers/free-port.js';
import { LiveService, type Tenant } from '../service/live-service.js';
import { type BuiltClient, CLIENTS, orSkip } from './foreign-clients.js';
import { PlayedScenario } from './played-scenario.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const UUID_OR_OWN = new RegExp(`^scenario-|${UUID.source}`);
const MAXIMUM = String(2 ** 53 - 1);
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

for (const foreign of CLIENTS) {
  describe(`a client in ${foreign.language}`, () => {
    let folder: string;
    let client: BuiltClient | undefined;
    let service: LiveService | undefined;
    let owner: Tenant;
    let scenario: PlayedScenario;

    before(async function () {
      client = await orSkip(this, () => foreign.build());
      folder = mkdtempSync(join(tmpdir(), 'darkroom-clients-'));
      const [callersFile, port] = [join(folder, 'callers.yaml'), await freePort()];
      writeFileSync(
        callersFile,
        JSON.stringify({
          callers: [
            { name: 'studio', token_sha256: sha256('all'), scopes: [...SCOPES, ...OPERATOR_SCOPES] },
            { name: 'reader', token_sha256: sha256('reader'), scopes: ['generations:read'] },
          ],
        }),
      );
      service = await LiveService.start({
        config: {
          grpc: { port, callers_file: callersFile },
          settings: { max_open_generations_per_account: 3, cancel_grace_seconds: 1 },
        },
      });
      owner = await service.tenant(1_000);
      const busy = await service.tenant(1_000);
      const who = ({ accountId, appId }: Tenant) => ({ account_id: accountId, app_id: appId });
      scenario = await PlayedScenario.of(client, {
        address: `127.0.0.1:${port}`,
        token: 'all',
        reader_token: 'reader',
        owner: who(owner),
        busy: who(busy),
        picture: Buffer.from(await image('png')).toString('base64'),
      });
    });
    after(async () => {
      client?.remove();
      await service?.remove();
      if (service) rmSync(folder, { recursive: true, force: true });
    });

    const rest = (secret = owner.secret) => (service as LiveService).client(secret);
    const generation = (step: string): JsonObject => scenario.answer(step)['generation'] as JsonObject;
    const task = (message: Json): JsonObject => taskOf(fromJson(GenerationSchema, message));
    /** The fields that do not change between two reads. */
    const lasting = ({ outputs, ...others }: JsonObject): JsonObject => ({
      ...others,
      outputs: (outputs as JsonObject[]).map(({ url: _, ...output }) => output),
    });
    const watched = (step: string) => scenario.step(step).answers.map((answer) => answer['generation'] as JsonObject);
    const refusal = (step: string) => {
      const { code, details = {} } = scenario.step(step);
      return [code, details['google.rpc.ErrorInfo']?.['reason'], details['google.rpc.ErrorInfo']?.['domain']];
    };
    const violation = (step: string) =>
      (scenario.step(step).details?.['google.rpc.BadRequest']?.['field_violations'] as JsonObject[] | undefined)?.[0];

    it('finds all services healthy, and no others', () => {
      for (const name of [
        '',
        ...['Generations', 'Uploads', 'Credits', 'Catalog', 'Access', 'Operations'].map((one) => `darkroom.v1.${one}`),
      ]) {
        expect(scenario.answer(`health of ${name}`), name).to.deep.equal({ status: 'SERVING' });
      }
      expect(scenario.step('health of nobody').code).to.equal(Status.NOT_FOUND);
    });

    it('reads the catalog that REST shows', async () => {
      const models = (scenario.answer('models')['models'] as JsonObject[]).map((model) =>
        modelOf(fromJson(ModelSchema, model)),
      );
      expect(models).to.deep.equal((await rest().request('GET', '/models')).data['models']);
    });

    it('creates once with a key, however it is sent, and gets the same answer as over REST', async () => {
      expect(scenario.answer('estimate')).to.deep.equal({
        model_key: 'sandbox-test',
        operation: 'OPERATION_IMAGE_GENERATION',
        estimated_credits: '2',
        currency: 'credits',
      });
      const [created, again] = [generation('create'), generation('create again')];
      expect(created).to.include({
        status: 'GENERATION_STATUS_QUEUED',
        client_trace_id: 'scenario:1',
        estimated_credits: '2',
        reserved_credits: '2',
        poll_after: '2s',
      });
      expect(again['generation_id']).to.match(UUID).and.equal(created['generation_id']);
      expect([scenario.answer('create')['replayed'], scenario.answer('create again')['replayed']]).to.deep.equal([
        undefined,
        true,
      ]);
      expect(refusal('create another with its key')).to.deep.equal([
        Status.ALREADY_EXISTS,
        'IDEMPOTENCY_PAYLOAD_MISMATCH',
        'darkroom',
      ]);
      const body = {
        model_key: 'sandbox-test',
        operation: 'image_generation',
        prompt: 'a lighthouse',
        parameters: { size: '128x128', n: 2 },
        client_trace_id: 'scenario:1',
      };
      const overRest = await rest().request('POST', '/generations', { key: 'one', body });
      expect([overRest.data['generation_id'], overRest.headers.get('idempotency-replayed')]).to.deep.equal([
        created['generation_id'],
        'true',
      ]);
    });

    it('watches until the end, and reads the same as over REST', async () => {
      for (const [step, status, charged] of [
        ['watch', 'succeeded', 2],
        ['watch what fails', 'failed', 0],
        ['watch what is newer', 'succeeded', 2],
      ] as const) {
        const last = task(watched(step).at(-1) ?? {});
        expect(last, step).to.include({ status, charged_credits: charged });
        expect(lasting(last)).to.deep.equal(lasting((await rest().look(last['generation_id'] as string)).data));
        const times = watched(step).map(({ update_time: at }) => Date.parse(at as string));
        expect(times, step).to.deep.equal(times.toSorted((a, b) => a - b));
      }
      expect(lasting(task(generation('get')))).to.deep.equal(lasting(task(watched('watch').at(-1) ?? {})));
      const urls = (generation('get')['outputs'] as JsonObject[]).map(({ url }) => url as string);
      for (const url of urls) expect((await fetch(url)).status).to.equal(200);
      expect(urls).to.have.length(2);
    });

    it('gets the requested fields', () => {
      expect(generation('get masked')).to.deep.equal({
        generation_id: generation('get')['generation_id'],
        status: 'GENERATION_STATUS_SUCCEEDED',
      });
    });

    it('lists in pages, newest first', () => {
      const ids = ['create', 'create what fails', 'create what is newer']
        .map((step) => generation(step)['generation_id'])
        .toReversed();
      const [first, second] = [scenario.answer('first page'), scenario.answer('second page')];
      const listed = [...(first['generations'] as JsonObject[]), ...(second['generations'] as JsonObject[])];
      expect(listed).to.deep.equal(ids.map((id) => ({ generation_id: id })));
      expect([typeof first['next_page_token'], second['next_page_token']]).to.deep.equal(['string', undefined]);
    });

    it('uploads a file to its target', () => {
      expect(scenario.answer('prepare')).to.include({
        method: 'PUT',
        media_type: 'image/png',
        role: 'REFERENCE_ROLE_REFERENCE_IMAGE',
      });
      expect(scenario.answer('complete')).to.include({
        upload_id: scenario.answer('prepare')['upload_id'],
        byte_size: scenario.answer('prepare')['byte_size'],
        modality: 'MODALITY_IMAGE',
      });
    });

    const REFUSALS: Readonly<Record<string, readonly [status: Status, reason: string, field?: string]>> = {
      'without a token': [Status.UNAUTHENTICATED, 'DEVELOPER_TOKEN_REQUIRED'],
      'with a wrong token': [Status.UNAUTHENTICATED, 'DEVELOPER_TOKEN_INVALID'],
      'beyond the scopes': [Status.PERMISSION_DENIED, 'DEVELOPER_SCOPE_INSUFFICIENT'],
      'for nobody': [Status.INVALID_ARGUMENT, 'FIELD_REQUIRED'],
      'for an App of somebody else': [Status.NOT_FOUND, 'NOT_FOUND'],
      'what there is not': [Status.NOT_FOUND, 'TASK_NOT_FOUND'],
      'what is no id': [Status.NOT_FOUND, 'TASK_NOT_FOUND'],
      'without a key': [Status.INVALID_ARGUMENT, 'IDEMPOTENCY_KEY_REQUIRED', 'idempotency_key'],
      'without a prompt': [Status.INVALID_ARGUMENT, 'FIELD_REQUIRED', 'input.prompt'],
      'of an operation not said': [Status.INVALID_ARGUMENT, 'FIELD_REQUIRED', 'input.operation'],
      'of an operation that is newer': [Status.INVALID_ARGUMENT, 'FIELD_INVALID', 'input.operation'],
      'with a reference that is no id': [Status.INVALID_ARGUMENT, 'FIELD_INVALID', 'input.reference_upload_ids[0]'],
      'grant more than that at once': [Status.INVALID_ARGUMENT, 'FIELD_INVALID', 'credits'],
      'grant what has 64 bits': [Status.INVALID_ARGUMENT, 'FIELD_INVALID', 'credits'],
    };
    for (const [step, [status, reason, field]] of Object.entries(REFUSALS)) {
      it(`reads why it is refused ${step}`, () => {
        expect(refusal(step)).to.deep.equal([status, reason, 'darkroom']);
        expect([violation(step)?.['field'], violation(step)?.['reason']]).to.deep.equal(
          field === undefined ? [undefined, undefined] : [field, reason],
        );
      });
    }

    it('keeps its own request ids, and gets others if it sends none', () => {
      expect([scenario.step('create').request_ids, scenario.step('what is no id').request_ids]).to.deep.equal([
        ['scenario-create'],
        ['scenario-malformed'],
      ]);
      // Health is not one of our services, and a client with a deadline may be gone before any answer.
      for (const { step, code, request_ids: ids, details } of scenario.lines) {
        if (/^health of|deadline/.test(step)) continue;
        expect(ids, step).to.have.length(1);
        expect(ids[0], step).to.match(UUID_OR_OWN);
        const isOwnEnd = code === Status.OK || code === Status.CANCELLED;
        expect(details?.['google.rpc.RequestInfo'], step).to.deep.equal(isOwnEnd ? undefined : { request_id: ids[0] });
      }
    });

    it('learns when to try again', () => {
      expect(refusal('create one too many')).to.deep.equal([Status.RESOURCE_EXHAUSTED, 'QUEUE_FULL', 'darkroom']);
      expect(scenario.step('create one too many').details?.['google.rpc.RetryInfo']).to.deep.equal({
        retry_delay: '5s',
      });
    });

    it('stops waiting at its deadline, or when it cancels', () => {
      expect(scenario.step('watch until a deadline').code).to.equal(Status.DEADLINE_EXCEEDED);
      const { code, answers } = scenario.step('watch and leave');
      expect(code).to.equal(Status.CANCELLED);
      expect(answers).not.to.have.length(0);
    });

    it('cancels a watched generation, and receives its end', () => {
      expect(task(watched('watch and cancel it').at(-1) ?? {})).to.include({ status: 'cancelled', charged_credits: 0 });
    });

    it('keeps every credit of the largest amounts', async () => {
      expect((scenario.answer('grant all there can be')['account'] as JsonObject)['credits']).to.include({
        issued: MAXIMUM,
        available: MAXIMUM,
      });
      const less = String(2 ** 53 - 2);
      expect(scenario.answer('balance')).to.deep.equal({ available_credits: less, currency: 'credits' });
      expect(
        (scenario.answer('entries')['entries'] as JsonObject[]).map(({ kind, credits, available_after: after }) => [
          kind,
          credits,
          after,
        ]),
      ).to.deep.equal([
        ['ENTRY_KIND_GRANT', MAXIMUM, MAXIMUM],
        ['ENTRY_KIND_ADJUSTMENT', '1', less],
      ]);
      expect(await rest(scenario.answer('key')['secret'] as string).balance()).to.equal(2 ** 53 - 2);
    });

    it('reads timestamps, durations and free text', async () => {
      expect(scenario.answer('account')['account']).to.include({ display_name: 'Zoë’s 画室', currency: 'credits' });
      const { expire_time: ends, create_time: made } = scenario.answer('key')['api_key'] as JsonObject;
      expect(ends).to.equal('2099-12-31T23:59:59Z');
      // The time is from the service's own clock, which also dates its HTTP answers.
      const answered = await rest().request('GET', '/credits');
      expect(Date.parse(answered.headers.get('date') ?? '') - Date.parse(made as string)).to.be.within(
        -2_000,
        3_600_000,
      );
      expect(scenario.answer('retention')).to.include({ outputs: '604800s', replays: '86400s' });
    });
  });
}
