/**
 * What a content policy refused: what was sent, what was made, or either where the response does not say which.
 * `policyRefusalIn` counts the last one as a refusal of what was sent.
 */
export type PolicyStage = 'input' | 'output' | 'unsaid';

/** Words that a sentence of the other side may repeat, and that say nothing about its reason. */
export interface SentTexts {
  readonly prompt?: string;
  readonly negativePrompt?: string | undefined;
}

/** Whether a code says so little that the sentence beside it has to be read. */
export function isGenericCode(code: string): boolean {
  return GENERIC_CODE.test(code);
}

/** What a sentence says that the content policy refused; undefined for any other. */
export function stageOfSentence(message: string, sent: SentTexts): PolicyStage | undefined {
  const sentence = withoutQuotes(message, sent);
  return isAboutPolicy(sentence) ? stageIn(sentence) : undefined;
}

/** Codes that name no reason. */
const GENERIC_CODE =
  /^(?:\d{3}|(?:invalid|bad)[ _]?(?:request|argument|input|params?|parameter|prompt|response[ _]?status[ _]?code)s?(?:[ _]?error)?|client specified an invalid argument|(?:[a-z0-9]+[ _])*(?:api|upstream|channel|server|internal|provider|user|client|task|image|video|unprocessable[ _]entity|validation|value|generation)[ _]?error|(?:[a-z0-9]+[ _])*(?:generation|request|operation|task)?[ _]?(?:fail|failed|failure)|error|failed[ _]precondition|unknown(?:[ _]error)?|unprocessable[ _](?:entity|content)|permission[ _]denied|forbidden|validation[ _]?exception|runtimeerror|valueerror|exception|unexpected)$/i;

const POLICY_WORDS: readonly RegExp[] = [
  /\bsafety (?:system|filters?|settings?|checks?|checker|polic(?:y|ies)|guidelines?|reasons?|violations?)\b/i,
  /\b(?:blocked|rejected|refused|flagged|filtered|withheld) (?:[\w']+ ){0,6}safety\b/i,
  /\bsafety_violations\b/i,
  /\bcontent (?:management |safety |usage |security )?(?:polic(?:y|ies)|guidelines|restrictions)\b/i,
  /\bcontent[ _-](?:filters?|filtering|moderation|moderated|violations?)\b/i,
  /\b(?:violat\w+|against|breach\w*|conflict\w* with) (?:[\w']+ ){0,5}(?:polic(?:y|ies)|guidelines|guardrails|terms)\b/i,
  /\bguardrails\b/i,
  /\bmoderation (?:system|filters?|check|rules|polic(?:y|ies)|service|layer|failed|blocked|rejected|threshold)\b/i,
  /\b(?:by|pass|passed|fail|failed|our|through|of|from|image|prompt|output|input|text) (?:the |our |its |automated )?moderation\b/i,
  /\b(?:request|prompt|content|image|video|input|output|result) (?:was|were|is|has been|got) (?:moderated|flagged)\b/i,
  /\bflagged (?:as|by|for|because)\b/i,
  /\bresponsible[ -]ai\b/i,
  /\bnsfw (?:content|material|images?|concepts?|prompt|input|output|detect\w*)\b/i,
  /\b(?:contains?|contained|containing|potential(?:ly)?|possibl[ey]|detected|considered|as|be|is|for|no|not allow|disallows?) (?:an? )?nsfw\b/i,
  /\bsensitive (?:content|information|words?|material|topics?|text)\b/i,
  /\b(?:contains?|as|be|is|potentially|considered) sensitive\b/i,
  /\b(?:prohibited|disallowed|inappropriate|unsafe|harmful|explicit|illegal) (?:content|material|words?|prompt|image|text)\b/i,
  /\b(?:prompt|content|image) (?:\w+ )?is (?:unsafe|inappropriate|not allowed by)\b/i,
  /\brisk control\b|\brisk not pass/i,
  /\bfilter reason: (?:prompt|output image|input image)\b/i,
  /敏感|违规|违禁|内容安全|内容审核|审核(?:不|未)通过|不合规|涉黄|不安全/,
];

/** A sentence about the form of a request, which may name a parameter such as `moderation` or `nsfw`. */
const ABOUT_FORM =
  /\b(?:unknown|unsupported|unrecogni[sz]ed|unexpected|extra|missing|required|duplicate) (?:\w+ )?(?:parameter|argument|field|property|key|option|input)s?\b|\b(?:case|price|time)[- ]sensitive\b|\bextra inputs are not permitted\b/i;
const ABOUT_OUTPUT =
  /\b(?:generated|output|result(?:ing)?|returned|produced) (?:images?|videos?|content|media|audio|results?)\b|\b(?:the|an?) (?:output|result)\b|\boutput (?:was|is|may|has)\b|生成(?:的)?(?:图片|图像|视频|内容)|输出/i;
const ABOUT_INPUT = /\b(?:prompt|inputs?|request|description|reference)\b|输入|提示词|描述/i;

/** A sentence without what it quotes, and without the texts that were sent. */
function withoutQuotes(message: string, { prompt = '', negativePrompt = '' }: SentTexts): string {
  let text = message;
  for (const repeated of [prompt, negativePrompt]) if (repeated.length > 2) text = text.replaceAll(repeated, ' ');
  return text.replaceAll(/"[^"]*"|`[^`]*`|“[^”]*”|«[^»]*»|(?<![A-Za-z])'[^'\n]*'(?![A-Za-z])/g, ' ');
}

function isAboutPolicy(sentence: string): boolean {
  return !ABOUT_FORM.test(sentence) && POLICY_WORDS.some((pattern) => pattern.test(sentence));
}

function stageIn(sentence: string): PolicyStage {
  const isOutput = ABOUT_OUTPUT.test(sentence);
  if (isOutput && !ABOUT_INPUT.test(sentence)) return 'output';
  return isOutput ? 'unsaid' : ABOUT_INPUT.test(sentence) ? 'input' : 'unsaid';
}
