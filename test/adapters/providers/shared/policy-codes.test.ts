import { expect } from 'chai';
import { HttpError, type HttpErrorDetails, type HttpErrorKind } from '../../../../adapters/http/http-error.js';
import { connectionFault } from '../../../../adapters/providers/shared/check-faults.js';
import { policyRefusalIn, policyStageIn } from '../../../../adapters/providers/shared/policy-codes.js';
import { failure, inputRefusal, refusal } from '../../../../adapters/providers/shared/sentences.js';

/*
 * Goal: a refusal by a vendor's content policy is recognised in the vendor's own form, and no other error is taken for one.
 * Method: error bodies as the vendors document them, or as gateways pass them on, and errors that only resemble them.
 */

type Case = readonly [name: string, body: unknown, status?: number];

const SAFETY = 'Your request was rejected as a result of our safety system.';

const INPUT: readonly Case[] = [
  ['OpenAI', { error: { code: 'moderation_blocked', type: 'image_generation_user_error', message: 'x' } }, 400],
  ['OpenAI of before', { error: { code: 'content_policy_violation', message: 'x' } }, 400],
  ['an error object at the top', { code: 'content_policy_violation', message: 'x' }, 400],
  ['Azure', { error: { code: 'contentFilter', inner_error: { code: 'ResponsibleAIPolicyViolation' } } }, 400],
  ['Azure with a numeric code', { error: { code: '400', innererror: { code: 'ResponsibleAIPolicyViolation' } } }, 400],
  ['Azure in capitals', { error: { code: 400, InnerError: { Code: 'x', code: 'ResponsibleAIPolicyViolation' } } }, 400],
  ['Azure in words', { error: { code: 'BadRequest', message: 'It triggered our content management policy.' } }, 400],
  ['OpenAI in words', { error: { code: null, type: 'invalid_request_error', message: SAFETY } }, 400],
  ['Gemini about a prompt', { promptFeedback: { blockReason: 'SAFETY' } }, 200],
  ['Gemini about a forbidden prompt', { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }, 200],
  [
    'Vertex in words',
    { error: { code: 400, status: 'INVALID_ARGUMENT', message: "It violated Vertex AI's Responsible AI practices." } },
    400,
  ],
  [
    'Stability',
    { id: 'a', name: 'content_moderation', errors: ['Your request was flagged by our content moderation.'] },
    403,
  ],
  ['Black Forest Labs', { id: 'a', status: 'Request Moderated', result: null }, 200],
  ['fal', { detail: [{ loc: ['body', 'prompt'], msg: 'x', type: 'content_policy_violation', input: {} }] }, 422],
  ['Replicate', { detail: 'The input or output was flagged as sensitive. Please try again. (E005)' }, 400],
  ['DashScope', { code: 'DataInspectionFailed', message: 'x', request_id: 'r' }, 400],
  ['DashScope about a task', { output: { task_status: 'FAILED', code: 'DataInspectionFailed', message: 'x' } }, 200],
  ['MiniMax', { base_resp: { status_code: 1026, status_msg: 'x' } }, 200],
  [
    'MiniMax, the second version',
    {
      type: 'error',
      error: {
        type: 'unprocessable_entity_error',
        message: 'video description contains sensitive content (1026)',
        http_code: '422',
      },
    },
    422,
  ],
  ['Kling', { code: 1301, message: 'x', request_id: 'r' }, 400],
  ['Zhipu', { error: { code: '1301', message: '系统检测到输入可能包含敏感内容' } }, 400],
  ['Volcengine', { error: { code: 'InputImageSensitiveContentDetected.PrivacyInformation', type: 'BadRequest' } }, 400],
  ['Volcengine about a text', { error: { code: 'InputTextSensitiveContentDetected', message: 'x' } }, 400],
  ['Runway', { status: 'FAILED', failure: 'x', failureCode: 'SAFETY.INPUT.TEXT' }, 200],
  [
    'OpenRouter',
    { error: { code: 403, message: 'x', metadata: { reasons: ['violence'], flagged_input: 'a knife' } } },
    403,
  ],
  [
    'another server, in a text',
    { error: { code: 502, message: 'x', metadata: { raw: '{"error":{"code":"content_filter"}}' } } },
    400,
  ],
  ['a gateway with a prefix', { error: { code: 'channel:content_filter', message: 'x' } }, 500],
  ['a gateway in words', { error: { code: 'upstream_error', message: SAFETY } }, 500],
  ['Leonardo', { error: 'Content moderation filter: nudity', code: 'unexpected' }, 400],
  ['Ideogram', { error: 'Prompt provided failed safety check due to the inclusion of prohibited content.' }, 422],
  ['Baidu', { code: 'video_genration_prompt_unsafe', type: 'unsafe_request', message: 'x' }, 403],
  [
    'Azure with a sentence about the cause',
    { error: { code: 'contentFilter', message: 'Your task failed as a result of our safety system.' } },
    400,
  ],
  ['a gateway with a cause', { error: { code: 400, message: 'Task failed as a result of our safety system.' } }, 400],
  [
    'LiteLLM about Azure',
    { error: { code: '400', provider_specific_fields: { innererror: { code: 'content_filter' } } } },
    400,
  ],
  [
    'LiteLLM with the words of Python',
    { error: { code: '400', type: 'None', message: "{'code': 'contentFilter'}" } },
    400,
  ],
  ['LiteLLM with a class', { error: { code: '400', message: 'litellm.ContentPolicyViolationError: VertexAI' } }, 400],
  [
    'new-api with another error as JSON',
    { error: { code: 'bad_response_status_code', message: 'x: {"code":"moderation_blocked"}' } },
    400,
  ],
  ['an error as a text of JSON', { error: '{\\"error\\": {\\"code\\": \\"content_policy_violation\\"}}' }, 400],
  [
    'FastAPI with another error',
    { detail: "Error code: 400 - {'error': {'code': 'moderation_blocked', 'param': None}}" },
    500,
  ],
  ['a code in the place of a sentence', { status: 'error', message: 'content_policy_violation' }, 200],
  ['Black Forest Labs as a text', { detail: 'Request Moderated' }, 422],
  [
    'Cloudflare',
    { success: false, errors: [{ code: 3030, message: 'AiError: Input prompt contains NSFW content.' }] },
    400,
  ],
  ['Tencent', { Response: { Error: { Code: 'OperationDenied.TextIllegalDetected', Message: 'x' } } }, 200],
  ['a failed task of a gateway', { id: 'a', status: 'FAILURE', fail_reason: '内容审核未通过' }],
];

const OUTPUT: readonly Case[] = [
  [
    'OpenAI about a result',
    { error: { code: 'moderation_blocked', moderation_details: { moderation_stage: 'output' } } },
    400,
  ],
  ['Gemini about a result', { candidates: [{ finishReason: 'IMAGE_SAFETY' }] }, 200],
  ['Imagen', { predictions: [{ raiFilteredReason: 'Unable to show generated images.' }] }, 200],
  ['Veo', { response: { generateVideoResponse: { raiMediaFilteredCount: 1, raiMediaFilteredReasons: ['x'] } } }, 200],
  ['Black Forest Labs about a result', { status: 'Content Moderated', result: null }, 200],
  ['MiniMax about a result', { base_resp: { status_code: 1027, status_msg: 'x' } }, 200],
  ['Volcengine about a result', { error: { code: 'OutputImageSensitiveContentDetected', message: 'x' } }, 400],
  [
    'xAI',
    { code: 'Client specified an invalid argument', error: 'Generated image rejected by content moderation.' },
    400,
  ],
  ['Azure about a result', { error: { code: 'contentFilter', message: 'The generated image was filtered.' } }, 400],
  ['DashScope about a result', { code: 'DataInspectionFailed', message: 'Output data may contain bad content.' }, 400],
  ['a gateway about Gemini', { error: { code: null, message: 'Gemini API error: IMAGE_SAFETY' } }, 200],
  ['Runway about a result', { failureCode: 'SAFETY.OUTPUT.VIDEO' }, 200],
];

const NEITHER: readonly Case[] = [
  ['nothing', undefined, 400],
  ['a text', 'Bad gateway', 502],
  ['a list', [1, null, 'x'], 400],
  [
    'a size',
    { error: { code: 'invalid_size', message: 'The size of your nsfw prompt is not allowed by our safety system.' } },
    400,
  ],
  ['a quoted prompt', { error: { code: null, message: 'Could not parse "a poster about our safety system".' } }, 400],
  ['a parameter', { error: { type: 'invalid_request_error', message: "Unknown parameter: 'moderation'." } }, 400],
  ['a parameter without quotes', { error: { type: 'invalid_request_error', message: 'Unknown parameter: nsfw' } }, 400],
  ['names with a case', { error: { code: 400, message: 'Model names are case-sensitive.' } }, 400],
  [
    'a limit of the rate',
    { error: { code: 'rate_limit_exceeded', message: 'Too many requests to our safety system.' } },
    429,
  ],
  ['a key', { error: { code: '401', message: 'Your key is not allowed by our content policy.' } }, 401],
  ['a repeated input', { detail: [{ type: 'missing', input: { code: 'content_filter', message: SAFETY } }] }, 422],
  ['a finished candidate', { candidates: [{ finishReason: 'STOP' }] }, 200],
  ['a gateway that is down', { error: { code: 502, message: SAFETY } }, 502],
  [
    'a blocked account',
    {
      error: {
        code: 'Forbidden',
        message: 'Your resource has been temporarily blocked because of our content policy.',
      },
    },
    403,
  ],
  ['a parameter with the name of a code', { error: { code: 400, message: 'Unknown parameter: content_blocked' } }, 400],
  ['a success', { base_resp: { status_code: 0, status_msg: 'success' } }, 200],
];

describe('the table of policy codes', () => {
  for (const [name, body, status] of INPUT)
    it(`finds a refused input: ${name}`, () => {
      expect(policyRefusalIn(body, status)).to.equal('input refused');
    });

  for (const [name, body, status] of OUTPUT)
    it(`finds a withheld output: ${name}`, () => {
      expect(policyRefusalIn(body, status)).to.equal('output refused');
    });

  for (const [name, body, status] of NEITHER)
    it(`finds no policy: ${name}`, () => {
      expect(policyRefusalIn(body, status)).to.equal(undefined);
    });

  it('ignores the prompt in a sentence', () => {
    const prompt = 'a sign that says content policy';
    const body = { error: { code: 400, message: `Cannot draw ${prompt} at this size.` } };
    expect(policyRefusalIn(body, 400)).to.equal('input refused');
    expect(policyRefusalIn(body, 400, { prompt })).to.equal(undefined);
  });

  it('ignores a prompt that is repeated cut off, in other case, with other spaces or escaped', () => {
    const prompt = 'A  poster\nthat says "safety system" in red: our content policy forbids nothing at all';
    for (const repeated of [
      'A poster that says "safety system" in red: our content policy forb...',
      'A POSTER THAT SAYS SAFETY SYSTEM IN RED: OUR CONTENT POLICY FORBIDS NOTHING AT ALL',
      String.raw`{"prompt":"A  poster\nthat says \"safety system\" in red: our content policy forbids nothing at all"}`,
    ]) {
      const body = { error: { code: 400, message: `Cannot draw this: ${repeated}` } };
      expect(policyRefusalIn(body, 400), repeated).to.equal('input refused');
      expect(policyRefusalIn(body, 400, { prompt }), repeated).to.equal(undefined);
    }
    expect(
      policyRefusalIn({ error: { code: 400, message: `${SAFETY} Sent: a poster that says` } }, 400, { prompt }),
    ).to.equal('input refused');
    const chinese = '一张关于内容审核政策的红色海报';
    expect(policyRefusalIn({ message: `参数错误：${chinese}` }, 400, { prompt: chinese })).to.equal(undefined);
  });

  it('compares a long sentence with a long prompt in bounded time', () => {
    const prompt = 'safety system '.repeat(600);
    expect(policyRefusalIn({ message: `Bad: ${prompt.repeat(3)}` }, 400, { prompt })).to.equal(undefined);
    expect(policyRefusalIn({ message: 'code: '.repeat(5_000) }, 400, { prompt })).to.equal(undefined);
  });

  it('says where a code leaves the stage open', () => {
    expect(policyStageIn({ code: 'content_filter' })).to.equal('unsaid');
  });

  it('reads a body of any depth and breadth in bounded time', () => {
    let deep: unknown = { code: 'content_filter' };
    for (let depth = 0; depth < 10_000; depth += 1) deep = { error: deep };
    expect(policyRefusalIn(deep, 400)).to.equal(undefined);
    const broad = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, 'x']));
    expect(policyRefusalIn(broad, 400)).to.equal(undefined);
  });
});

/*
 * Goal: refusals have the code, the reason and the right to another attempt that the port describes.
 * Method: each name of a failure, and what follows from its code.
 */

describe('sentences of providers', () => {
  it('let another attempt follow where the code does, with the wait that the provider asked for', () => {
    expect(failure('rejected', 5_000)).to.deep.equal({
      code: 'PROVIDER_REJECTED',
      message: 'The provider refused the task.',
      mayRetry: false,
    });
    expect(failure('broke', 5_000)).to.deep.equal({
      code: 'INTERNAL_ERROR',
      message: 'The provider had an internal error.',
      mayRetry: true,
      retryAfterMs: 5_000,
    });
  });

  it('say of a refusal whether another provider may take the task', () => {
    expect(refusal('no capacity', { retryAfterMs: 1_000 })).to.deep.include({ accepted: false, because: 'capacity' });
    expect(refusal('unreachable').because).to.equal('capacity');
    expect(refusal('account refused').because).to.equal('not-here');
    expect(refusal('model missing').because).to.equal('not-here');
    expect(refusal('input refused')).to.not.have.property('because');
    expect(refusal('broke', { cost: { outputTokens: 3 } }).cost).to.deep.equal({ outputTokens: 3 });
  });

  it('refuse a parameter with the sentence given', () => {
    expect(inputRefusal('The size is too large.').failure).to.deep.equal({
      code: 'INPUT_INVALID',
      message: 'The size is too large.',
      mayRetry: false,
    });
  });
});

/*
 * Goal: an operator reads in one sentence why a server could not be reached.
 * Method: the errors of the HTTP client, each as it comes.
 */

const ORIGIN = 'https://api.example.com';

describe('a try of a connection', () => {
  it('reports what is wrong', () => {
    const faults: readonly (readonly [HttpErrorKind, HttpErrorDetails, string])[] = [
      ['not-connected', { requestSent: false, code: 'ECONNREFUSED' }, 'Nothing answers at'],
      ['timed-out', { requestSent: false, phase: 'connect' }, 'Nothing answers at'],
      ['not-connected', { requestSent: false, code: 'ENOTFOUND' }, 'The host of'],
      ['not-connected', { requestSent: false, code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }, `${ORIGIN} has no certificate`],
      ['not-connected', { requestSent: false, code: 'ERR_TLS_CERT_ALTNAME_INVALID' }, `${ORIGIN} has no certificate`],
      ['not-connected', { requestSent: false, code: 'PROXY_ANSWERED_407' }, 'The proxy made no connection'],
      [
        'not-connected',
        { requestSent: false, code: 'PROXY_SELF_SIGNED_CERT_IN_CHAIN' },
        'The proxy made no connection',
      ],
      ['refused-address', { requestSent: false }, `${ORIGIN} is an address`],
      ['aborted', { requestSent: true }, 'The call to'],
      ['bad-answer', { requestSent: true }, `${ORIGIN} answers what cannot be read`],
      ['not-connected', { requestSent: false, code: 'ERR_SSL_WRONG_VERSION_NUMBER' }, `${ORIGIN} does not speak TLS`],
      ['not-connected', { requestSent: false, code: 'ECONNRESET' }, `${ORIGIN} closed the connection before TLS`],
      ['not-connected', { requestSent: false, code: 'ERR_SSL_PACKET_LENGTH_TOO_LONG' }, `${ORIGIN} does not speak TLS`],
      ['unknown-outcome', { requestSent: true, code: 'ECONNRESET' }, `${ORIGIN} did not give`],
    ];
    for (const [kind, details, beginning] of faults) {
      const sentence = connectionFault(new HttpError(kind, 'what the client says', details), ORIGIN);
      expect(sentence.startsWith(beginning), sentence).to.equal(true);
      expect(sentence).to.include(ORIGIN).and.to.match(/\.$/).and.not.include('what the client says');
    }
  });

  it('throws what is a mistake in the program', () => {
    expect(() => connectionFault(new TypeError('x'), ORIGIN)).to.throw(TypeError);
  });
});
