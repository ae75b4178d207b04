import { change } from '../server.js';
import { ActButton } from './act-button.js';
import type { Generation } from './server-types.js';

interface CancelButtonProps {
  readonly generation: Generation;
  readonly done: (sentence: string) => Promise<void>;
  readonly refused: () => void;
}

/** Cancels a generation, as its client could. */
export function CancelButton({
  generation: { generation_id: id, model_key: model },
  done,
  refused,
}: CancelButtonProps) {
  return (
    <ActButton
      label="Cancel"
      fullLabel={`Cancel the generation ${id}`}
      title="Cancel this generation?"
      consequence={`It is of the model ${model}. If it waits, it ends at once and costs nothing. If it runs, it ends when its provider stops, and what was delivered is charged.`}
      doIt="End it"
      isDangerous
      act={() => change<{ readonly generation: Generation }>(`/operator/generations/${id}/cancel`)}
      done={({ generation: { status } }) => done(sentenceOf(status))}
      refused={refused}
    />
  );
}

function sentenceOf(status: Generation['status']): string {
  if (status === 'cancelled') return 'The generation is cancelled.';
  return status === 'queued' || status === 'running'
    ? 'The generation is asked to stop.'
    : `The generation had ${status} before; nothing was changed.`;
}
