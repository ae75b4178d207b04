import { getGeneration } from '../../../../core/generation/get-generation.js';
import { consoleApp } from '../../../../core/people/account-apps.js';
import { callerOfPerson } from '../../../../core/people/acting.js';
import type { ConsoleOperation } from '../console-operation.js';

/**
 * What a generation of this page was asked for, so that it can be made again; null once that was removed. Nobody is shown
 * what programs ask for: it belongs to who uses them.
 */
export const getInput: ConsoleOperation = {
  method: 'GET',
  path: '/playground/generations/:generation_id/input',
  async answer({ context }, { ctx, signedIn: { person } }) {
    const { appId } = await consoleApp(context, person.accountId);
    const caller = await callerOfPerson(context, person, appId);
    const generation = await getGeneration(context, caller, ctx.params['generation_id'] ?? '');
    if (generation.contentRemovedAt !== undefined) return { input: null };
    const { modelKey, operation, prompt, negativePrompt, parameters, references } = generation;
    return {
      input: {
        model_key: modelKey,
        operation,
        prompt,
        negative_prompt: negativePrompt ?? null,
        parameters,
        references: references.map(({ uploadId, role }) => ({ upload_id: uploadId, role })),
      },
    };
  },
};
