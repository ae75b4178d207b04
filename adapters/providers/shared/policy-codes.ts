import type { SubmissionContract } from '../../http/submission-outcome.js';
import { isObject } from './json-members.js';
import {
  codesWithin,
  isAboutOutput,
  isGenericCode,
  type PolicyStage,
  type SentTexts,
  stageOfSentence,
} from './policy-sentences.js';

export type { PolicyStage, SentTexts } from './policy-sentences.js';

/**
 * The codes with which vendors refuse content. A code is compared without its case and its separators, as a whole or as
 * one part of a code with dots or colons: gateways write `contentFilter`, `content_filter` and `channel:content_filter`.
 */
const CODES: readonly (readonly [code: string, stage: PolicyStage])[] = [
  // OpenAI, Images and Videos API: https://platform.openai.com/docs/guides/error-codes and the OpenAPI document.
  ['moderation_blocked', 'unsaid'],
  ['content_policy_violation', 'unsaid'],
  ['image_content_policy_violation', 'unsaid'],
  ['content_safety_violation', 'unsaid'],
  ['safety_violation', 'unsaid'],
  ['sentinel_block', 'unsaid'],
  ['content_filter', 'unsaid'],
  // Azure OpenAI: https://learn.microsoft.com/azure/ai-services/openai/concepts/content-filter (inner errors included).
  ['contentFilter', 'unsaid'],
  ['ResponsibleAIPolicyViolation', 'unsaid'],
  ['content_filtered', 'unsaid'],
  // fal: https://docs.fal.ai/model-apis/errors, `detail[].type`.
  ['content_policy_violation', 'unsaid'],
  // Stability: https://platform.stability.ai/docs/api-reference, `name` of an error and `finish_reason` of a result.
  ['content_moderation', 'unsaid'],
  ['CONTENT_FILTERED', 'output'],
  ['invalid_prompts', 'input'],
  // Black Forest Labs: https://docs.bfl.ai/api-reference, `status` of a task.
  ['Request Moderated', 'input'],
  ['Content Moderated', 'output'],
  // Replicate: https://replicate.com/docs/reference/error-codes.
  ['E005', 'unsaid'],
  // Google, Imagen and Veo: https://cloud.google.com/vertex-ai/generative-ai/docs/image/responsible-ai-imagen.
  ['PROHIBITED_CONTENT', 'unsaid'],
  ['IMAGE_SAFETY', 'output'],
  ['IMAGE_PROHIBITED_CONTENT', 'output'],
  ['content_blocked', 'unsaid'],
  // Alibaba, DashScope and Model Studio: https://help.aliyun.com/zh/model-studio/error-code.
  ['DataInspectionFailed', 'unsaid'],
  ['data_inspection_failed', 'unsaid'],
  ['InputDataInspectionFailed', 'input'],
  ['OutputDataInspectionFailed', 'output'],
  ['IPInfringementSuspect', 'input'],
  ['green_net_filter', 'unsaid'],
  // ByteDance, Volcengine Ark and BytePlus: https://www.volcengine.com/docs/82379/1299023.
  ['SensitiveContentDetected', 'unsaid'],
  ['InputTextSensitiveContentDetected', 'input'],
  ['InputImageSensitiveContentDetected', 'input'],
  ['InputVideoSensitiveContentDetected', 'input'],
  ['InputAudioSensitiveContentDetected', 'input'],
  ['OutputTextSensitiveContentDetected', 'output'],
  ['OutputImageSensitiveContentDetected', 'output'],
  ['OutputVideoSensitiveContentDetected', 'output'],
  ['OutputAudioSensitiveContentDetected', 'output'],
  ['InputTextRiskDetection', 'input'],
  ['InputImageRiskDetection', 'input'],
  ['OutputTextRiskDetection', 'output'],
  ['OutputImageRiskDetection', 'output'],
  ['ContentSecurityDetectionError', 'unsaid'],
  // Volcengine, visual API (Jimeng): https://www.volcengine.com/docs/6444/1390583.
  ['50411', 'input'],
  ['50412', 'input'],
  ['50413', 'input'],
  ['50511', 'output'],
  ['50512', 'output'],
  // MiniMax: https://platform.minimax.io/docs/api-reference/errorcode, `base_resp.status_code`.
  ['1026', 'input'],
  ['1027', 'output'],
  // Kling (https://app.klingai.com/global/dev/document-api) and Zhipu (https://docs.bigmodel.cn/cn/faq/api-code).
  ['1301', 'unsaid'],
  // Tencent Hunyuan: https://cloud.tencent.com/document/product/1729/105840, after `OperationDenied.`.
  ['TextIllegalDetected', 'input'],
  ['ImageIllegalDetected', 'unsaid'],
  // Baidu Qianfan: https://cloud.baidu.com/doc/qianfan-api/s/4mwbl4bz4; their spelling.
  ['unsafe_request', 'input'],
  ['video_genration_prompt_unsafe', 'input'],
  // Leonardo, Ideogram, Together, OpenRouter and gateways such as LiteLLM, one-api and new-api, as they appear in issues.
  ['ContentPolicyViolationError', 'unsaid'],
  ['content_moderation_failed', 'unsaid'],
  ['content_violation', 'unsaid'],
  ['policy_violation', 'unsaid'],
  ['moderation_failed', 'unsaid'],
  ['moderation_error', 'unsaid'],
  ['moderation_rejected', 'unsaid'],
  ['prompt_moderated', 'input'],
  ['prompt_blocked', 'input'],
  ['prompt_moderation_failed', 'input'],
  ['sensitive_words_detected', 'input'],
  ['sensitive_content', 'unsaid'],
  ['sensitive_content_detected', 'unsaid'],
  ['nsfw', 'unsaid'],
  ['nsfw_detected', 'unsaid'],
  ['nsfw_content', 'unsaid'],
  ['nsfw_content_detected', 'output'],
  ['prompt_nsfw', 'input'],
  ['safety_check_failed', 'unsaid'],
  ['prohibited_content', 'unsaid'],
];

/**
 * Words of Google's enumerations (https://ai.google.dev/api/generate-content), which mean a policy only in these two
 * members. `blockReason` is of the prompt, `finishReason` of what was made.
 */
const GOOGLE_REASONS: readonly string[] = [
  'SAFETY',
  'RECITATION',
  'IMAGE_RECITATION',
  'BLOCKLIST',
  'SPII',
  'JAILBREAK',
  'MODEL_ARMOR',
  'PROHIBITED_CONTENT',
  'IMAGE_SAFETY',
  'IMAGE_PROHIBITED_CONTENT',
  'content_filter',
  'content_filtered',
];

/** A list of members. Vendors write one name as `inner_error`, `innererror` and `InnerError`: all are compared in one form. */
function membersOf(names: string): ReadonlySet<string> {
  return new Set(names.split(' ').map(normalized));
}

/** Members that have a code, and members that have a sentence. */
const CODE_MEMBERS = membersOf(
  'code type error_code error_type failureCode name reason status status_code error codes',
);
const MESSAGE_MEMBERS = membersOf(
  'message msg error detail title reason status_msg task_status_msg failure failure_reason error_message error_msg fail_reason errors',
);
/** Members that have further errors. Other members, such as a repeated input, are not read. */
const CONTAINERS = membersOf(
  'error errors inner_error detail details base_resp output data metadata response result task task_result promptFeedback candidates predictions generateVideoResponse raw moderation_details incomplete_details failure provider_specific_fields upstream_error cause',
);
const GOOGLE_INPUT = membersOf('blockReason');
const GOOGLE_OUTPUT = membersOf('finishReason');
const GOOGLE_FILTERED = membersOf('raiFilteredReason raiMediaFilteredReasons');

const MOST_VALUES = 2_000;
const MOST_DEPTH = 8;
const LONGEST_MESSAGE = 10_000;

/** Statuses with which a sentence may be about a policy; a code counts with any status. */
const STATUSES_OF_SENTENCES: readonly number[] = [200, 400, 403, 406, 412, 422, 451, 500];

interface Collected {
  readonly codes: string[];
  readonly messages: string[];
  readonly stages: PolicyStage[];
  values: number;
}

/**
 * Whether the body of an error, or a sentence of it, says that a content policy refused the task. `status` is that of the
 * response; the code counts with any, the sentence only where the code is a generic one such as `400` or `BadRequest`.
 */
export function policyRefusalIn(
  body: unknown,
  status?: number,
  sent?: SentTexts,
): 'input refused' | 'output refused' | undefined {
  const stage = policyStageIn(body, status, sent);
  if (stage === undefined) return undefined;
  return stage === 'output' ? 'output refused' : 'input refused';
}

/** Whether a code is one of the table, so that it may be logged. */
export function isPolicyCode(code: string): boolean {
  return stageOfCode(code) !== undefined;
}

/** A contract by which a refusal of the content is certain with any status: the vendor has decided. */
export function withPolicy(sent: SentTexts, contract: SubmissionContract = {}): SubmissionContract {
  return {
    ...contract,
    refuses: (status, body) =>
      policyRefusalIn(body, status, sent) === undefined ? contract.refuses?.(status, body) : 'rejected',
  };
}

/** The same, and `unsaid` where it does not say whether it was the input or the output. */
export function policyStageIn(body: unknown, status?: number, sent: SentTexts = {}): PolicyStage | undefined {
  const found: Collected = { codes: [], messages: [], stages: [], values: 0 };
  collect(typeof body === 'string' ? { message: body } : body, found, 0);
  const stages = [...found.stages, ...found.codes.map(stageOfCode).filter((stage) => stage !== undefined)];
  const stated = stages.find((stage) => stage !== 'unsaid') ?? stages[0];
  const isOfOutput = () => found.messages.some(isAboutOutput);
  if (stated === 'unsaid') return moderationStage(body) ?? (isOfOutput() ? 'output' : 'unsaid');
  if (stated !== undefined) return stated;
  if (status !== undefined && !STATUSES_OF_SENTENCES.includes(status)) return undefined;
  if (!found.codes.every(isGenericCode)) return undefined;
  return found.messages.map((text) => stageOfMessage(text, sent)).find((stage) => stage !== undefined);
}

/** The meaning of a sentence, by itself or by the code of another server in it. */
function stageOfMessage(message: string, sent: SentTexts): PolicyStage | undefined {
  const said = stageOfSentence(message, sent);
  if (said !== undefined) return said;
  const stages = codesWithin(message, sent).map(stageOfCode);
  const stated = stages.find((stage) => stage !== undefined && stage !== 'unsaid') ?? stages.find(Boolean);
  return stated === 'unsaid' && isAboutOutput(message) ? 'output' : stated;
}

function stageOfCode(code: string): PolicyStage | undefined {
  const runway = /^(?:INPUT_PREPROCESSING\.)?SAFETY(?:\.(INPUT|OUTPUT))?(?:\.|$)/.exec(code);
  // Runway: https://docs.dev.runwayml.com/errors/task-failures, `failureCode`.
  if (runway !== null && code !== 'SAFETY') return runway[1] === 'OUTPUT' ? 'output' : 'input';
  for (const part of [code, ...code.split(/[.:/]/)]) {
    const stage = STAGES.get(normalized(part));
    if (stage !== undefined) return stage;
  }
  return undefined;
}

const STAGES: ReadonlyMap<string, PolicyStage> = new Map(CODES.map(([code, stage]) => [normalized(code), stage]));

function normalized(code: string): string {
  return code.toLowerCase().replaceAll(/[\s_-]+/g, '');
}

/** OpenAI says in `moderation_details` what it looked at. */
function moderationStage(body: unknown): PolicyStage | undefined {
  const error = isObject(body) && isObject(body['error']) ? body['error'] : body;
  const details = isObject(error) ? error['moderation_details'] : undefined;
  const stage = isObject(details) ? details['moderation_stage'] : undefined;
  return stage === 'input' || stage === 'output' ? stage : undefined;
}

function collect(value: unknown, found: Collected, depth: number): void {
  if (depth > MOST_DEPTH || typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value.slice(0, 100)) collect(item, found, depth + 1);
    return;
  }
  for (const [name, member] of Object.entries(value)) {
    found.values += 1;
    if (found.values > MOST_VALUES) return;
    const plain = normalized(name);
    readMember(plain, member, found);
    if (CONTAINERS.has(plain)) collect(plain === 'raw' ? parsed(member) : member, found, depth + 1);
  }
}

/** `name` is in the form that `normalized` gives. */
function readMember(name: string, member: unknown, found: Collected): void {
  const texts = (Array.isArray(member) ? member.slice(0, 20) : [member])
    .filter((one): one is string | number => typeof one === 'string' || Number.isSafeInteger(one))
    .map(String)
    .filter((text) => text.trim() !== '');
  if (GOOGLE_INPUT.has(name) && texts.some((text) => GOOGLE_REASONS.includes(text) || text === 'OTHER'))
    found.stages.push('input');
  if (GOOGLE_OUTPUT.has(name) && texts.some((text) => GOOGLE_REASONS.includes(text) || stageOfCode(text) !== undefined))
    found.stages.push('output');
  if (GOOGLE_FILTERED.has(name) && texts.length > 0) found.stages.push('output');
  // OpenRouter: https://openrouter.ai/docs/api-reference/errors, `error.metadata`.
  if (name === 'flaggedinput' && texts.length > 0) found.stages.push('input');
  for (const text of texts) {
    if (CODE_MEMBERS.has(name) && isCode(text, name)) found.codes.push(text.trim());
    if (MESSAGE_MEMBERS.has(name)) found.messages.push(text.slice(0, LONGEST_MESSAGE));
  }
}

/** A code is one word; `status` and `code` may have a few. In `error` and `reason` anything longer is a sentence. */
function isCode(text: string, name: string): boolean {
  if (/^[\w.:/-]{1,120}$/.test(text.trim())) return name !== 'status' || !/^(?:failed|error|failure)$/i.test(text);
  return (name === 'status' || name === 'code') && /^[\w .:/-]{1,60}$/.test(text);
}

/** Gateways put the body of another server into a text. */
function parsed(value: unknown): unknown {
  if (typeof value !== 'string' || value.length > 100_000) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return { message: value };
  }
}
