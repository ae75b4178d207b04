import { useRef } from 'preact/hooks';
import type { Task } from '../api-types.js';
import { timeText } from '../format.js';
import { ShownOutput } from '../media/shown-output.js';
import { SectionLink } from '../parts/section-link.js';
import type { Generations } from './use-generations.js';
import { costText, isOpen, spokenText, STATUS_TEXTS } from './task-text.js';

interface GridProps {
  readonly generations: Generations;
  readonly tasks: readonly Task[];
  readonly currency: string;
}

/** Pictures and videos, newest first. */
export function GenerationGrid({ generations, tasks, currency }: GridProps) {
  const list = useRef<HTMLUListElement>(null);
  const more = async (): Promise<void> => {
    const first = await generations.more();
    // The button goes on being the next thing; who reads on begins with the first new one.
    requestAnimationFrame(() =>
      list.current?.querySelector<HTMLElement>(`[data-id="${first?.generation_id ?? ''}"] a`)?.focus(),
    );
  };
  return (
    <>
      <ul class="grid-of-media" ref={list}>
        {tasks.map((task) => (
          <li key={task.generation_id} data-id={task.generation_id}>
            <GenerationTile task={task} currency={currency} />
          </li>
        ))}
      </ul>
      {generations.hasMore ? (
        <button
          type="button"
          class="outline secondary more"
          aria-busy={generations.isBusy}
          disabled={generations.isBusy}
          onClick={() => void more()}
        >
          Show more
        </button>
      ) : null}
    </>
  );
}

function GenerationTile({ task, currency }: { readonly task: Task; readonly currency: string }) {
  const [output] = task.outputs;
  const count = task.outputs.length;
  return (
    <SectionLink
      name="generations"
      id={task.generation_id}
      class="tile"
      label={`${spokenText(task)}, ${timeText(task.created_at)}`}
    >
      <span class={`frame-of-media ${task.status}`}>
        {output === undefined ? (
          <span class="no-media" aria-busy={isOpen(task)}>
            {STATUS_TEXTS[task.status]}
          </span>
        ) : (
          <ShownOutput output={output} alt="" isPreview />
        )}
        {count > 1 ? <span class="count">{`${count} outputs`}</span> : null}
      </span>
      <span class="tile-text">
        <span>{task.model_key}</span>
        <span class="quiet">{timeText(task.created_at)}</span>
        <span class="quiet">{costText(task, currency)}</span>
      </span>
    </SectionLink>
  );
}
