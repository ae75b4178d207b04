/**
 * The part that a content policy refused: the input, the output, or either when the response does not say which.
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

/** The part that the content policy refused by this sentence; undefined for any other sentence. */
export function stageOfSentence(message: string, sent: SentTexts): PolicyStage | undefined {
  const sentence = withoutQuotes(withoutRepeats(message, sent));
  return isAboutPolicy(sentence) ? stageIn(sentence) : undefined;
}

/** Whether a sentence is about what was made, and not about what was sent. */
export function isAboutOutput(message: string): boolean {
  return stageIn(withoutQuotes(message)) === 'output';
}

/**
 * Words of a sentence that may be another server's code: gateways put its error into their own sentence, as JSON, as Python
 * writes a dictionary, or as its bare code.
 */
export function codesWithin(message: string, sent: SentTexts): readonly string[] {
  const text = withoutRepeats(message, sent);
  const named = [...text.matchAll(NAMED_CODE)].map(([, code = '']) => code);
  const bare = ABOUT_FORM.test(text) ? [] : [...text.matchAll(BARE_CODE)].map(([code]) => code);
  return [...named, ...bare, ...(WHOLE_CODE.test(text) ? [text] : [])];
}

/** A code in the place of a sentence. */
const WHOLE_CODE = /^[\w -]{1,60}$/;
/** A member with a code, in quotes of any kind, escaped or not. */
const NAMED_CODE = /\b(?:code|type|status|reason|name)["'\\]*\s*[:=]\s*["'\\]*([A-Za-z][\w.:-]{2,99})/gi;
/** A word that names an event, and that no sentence has by chance: with an underscore, or capitals within it. */
const BARE_CODE =
  /\b(?=\w*(?:_|[a-z][A-Z]))\w*(?:violation|blocked|detected|failed|rejected|filtered|moderated|safety|prohibited|inspection)\w*/gi;

/** Codes that name no reason. */
const GENERIC_CODE =
  /^(?:-?\d+|(?:invalid|bad)[ _]?(?:request|argument|input|params?|parameter|prompt|response[ _]?status[ _]?code)s?(?:[ _]?error)?|client specified an invalid argument|(?:[a-z0-9]+[ _])*(?:api|upstream|channel|server|internal|provider|user|client|task|image|video|unprocessable[ _]entity|validation|value|generation)[ _]?error|(?:[a-z0-9]+[ _])*(?:generation|request|operation|task)?[ _]?(?:fail|failed|failure)|error|none|null|undefined|failed[ _]precondition|unknown(?:[ _]error)?|unprocessable[ _](?:entity|content)|permission[ _]denied|forbidden|validation[ _]?exception|runtimeerror|valueerror|exception|unexpected)$/i;

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
/** A sentence about the operator's account, which no other prompt would help. */
const ABOUT_ACCOUNT =
  /\b(?:resource|account|organi[sz]ation|project|subscription|team|workspace|(?:api )?key|access) (?:\w+ ){0,4}(?:blocked|suspended|banned|disabled|deactivated|terminated|restricted|revoked|flagged)\b/i;
const ABOUT_OUTPUT =
  /\b(?:generated|output|result(?:ing)?|returned|produced) (?:images?|videos?|content|media|audio|results?|data)\b|(?<!\bas )\b(?:the|an?) (?:output|result)\b|\boutput (?:was|is|may|has)\b|生成(?:的)?(?:图片|图像|视频|内容)|输出/i;
const ABOUT_INPUT = /\b(?:prompt|inputs?|request|description|reference)\b|输入|提示词|描述/i;

/** A sentence without what it quotes. */
function withoutQuotes(text: string): string {
  return text.replaceAll(/"[^"]*"|`[^`]*`|“[^”]*”|«[^»]*»|(?<![A-Za-z])'[^'\n]*'(?![A-Za-z])/g, ' ');
}

/** So many words in a row that are also in a row in a text that was sent are repeated from there. */
const REPEATED_WORDS = 5;
/** Scripts without spaces between words: each character counts as a word. */
const WORD =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}])[\p{L}\p{M}\p{N}])+/gu;

/**
 * A sentence without the texts that were sent. Servers repeat them cut off, in other case, with other spaces and escaped, so
 * words are compared.
 */
function withoutRepeats(message: string, { prompt = '', negativePrompt = '' }: SentTexts): string {
  return [prompt, negativePrompt].reduce(withoutRepeatsOf, message);
}

function withoutRepeatsOf(message: string, text: string): string {
  const sent = wordsOf(text);
  if (sent.join('').length <= 2) return message;
  const count = Math.min(REPEATED_WORDS, sent.length);
  const rows = new Set(sent.slice(0, sent.length - count + 1).map((_, at) => rowAt(sent, at, count)));
  const words = [...message.matchAll(WORD)];
  const said = words.map(([word]) => word.toLowerCase());
  const kept: string[] = [];
  let from = 0;
  for (let at = 0; at + count <= said.length; at += 1) {
    if (!rows.has(rowAt(said, at, count))) continue;
    const [first, last] = [words[at]!, words[at + count - 1]!];
    kept.push(message.slice(from, Math.max(from, first.index)));
    from = last.index + last[0].length;
  }
  return [...kept, message.slice(from)].join(' ');
}

function wordsOf(text: string): readonly string[] {
  return [...text.matchAll(WORD)].map(([word]) => word.toLowerCase());
}

function rowAt(words: readonly string[], at: number, count: number): string {
  return words.slice(at, at + count).join(' ');
}

function isAboutPolicy(sentence: string): boolean {
  return (
    !ABOUT_FORM.test(sentence) &&
    !ABOUT_ACCOUNT.test(sentence) &&
    POLICY_WORDS.some((pattern) => pattern.test(sentence))
  );
}

function stageIn(sentence: string): PolicyStage {
  const isOutput = ABOUT_OUTPUT.test(sentence);
  if (isOutput && !ABOUT_INPUT.test(sentence)) return 'output';
  return isOutput ? 'unsaid' : ABOUT_INPUT.test(sentence) ? 'input' : 'unsaid';
}
