/** What a person has entered in the playground, except for files. */
export interface Setup {
  readonly model_key: string;
  readonly prompt: string;
  readonly negative_prompt: string;
  /** The texts of the parameters, by name. */
  readonly texts: Readonly<Record<string, string>>;
}

/** With the generation that was shown while it was written; empty for none. */
type Draft = { readonly from: string; readonly setup: Setup };

const PREFIX = 'darkroom.draft.';

/** The draft of an account, which stays in this browser until its person signs out. */
export function readDraft(accountId: string): Draft | undefined {
  try {
    const draft = JSON.parse(localStorage.getItem(PREFIX + accountId) ?? '') as Draft;
    const { model_key: key, prompt, negative_prompt: negative, texts } = draft.setup;
    const all: unknown[] = [draft.from, key, prompt, negative, ...Object.values(texts)];
    return all.every((text) => typeof text === 'string') ? draft : undefined;
  } catch {
    // No draft is stored, it is of another release, or the browser forbids storage.
    return undefined;
  }
}

export function keepDraft(accountId: string, draft: Draft): void {
  try {
    localStorage.setItem(PREFIX + accountId, JSON.stringify(draft));
  } catch {
    // The draft then ends with the page.
  }
}

/** The address of the playground with the entered model and parameters, but without the prompt: addresses get into logs. */
export function sharedQuery(accountId: string) {
  const { model_key: model, texts } = readDraft(accountId)?.setup ?? {};
  return { model, parameters: texts && JSON.stringify(texts) };
}

/** The parameters in an address; undefined for any other text. */
export function sharedTexts(text = ''): Setup['texts'] | undefined {
  try {
    const texts = JSON.parse(text) as Setup['texts'];
    return Object.values(texts).every((one) => typeof one === 'string') ? texts : undefined;
  } catch {
    return undefined;
  }
}

/** Removes the drafts of all accounts from this browser. */
export function clearDrafts(): void {
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
  } catch {
    // Nothing is kept where nothing may be stored.
  }
}
