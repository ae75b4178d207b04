import { useEffect, useRef, useState } from 'preact/hooks';
import type { Output } from '../api-types.js';
import { readable } from '../server.js';
import type { AccountGeneration, Thumbnails } from '../server-types.js';

const SIDES = { small: 320, medium: 640, large: 1_280 } as const;

/** The ratio of width and height; square where the size is unknown. */
export function ratioOf({ width, height }: Pick<Output, 'width' | 'height'>): number {
  return width === undefined || height === undefined || height === 0 ? 1 : width / height;
}

export function thumbnailsOf({ thumbnails }: AccountGeneration, { media_id: id }: Output): Thumbnails | undefined {
  return thumbnails.find((one) => one.media_id === id);
}

/** The candidates of an image by their widths. */
function sourcesOf(thumbnails: Thumbnails, { width = 1, height = 1 }: Output): string {
  const widthAt = (side: number): number =>
    Math.max(1, Math.round(width * Math.min(1, side / Math.max(width, height))));
  return (['small', 'medium', 'large'] as const)
    .map((size) => `${thumbnails[size]} ${widthAt(SIDES[size])}w`)
    .join(', ');
}

interface PictureProps {
  readonly output: Output;
  readonly thumbnails: Thumbnails | undefined;
  /** For those who do not see it; empty where a text beside it says it. */
  readonly alt: string;
  /** The width that it is shown with, in CSS pixels, or as a text for the `sizes` of an image. */
  readonly shownWidth: number | string;
  /** Whether it is in view when the page opens. */
  readonly isFirst?: boolean;
  /** Called when it cannot be loaded: its address may have expired. */
  readonly onFault?: (() => void) | undefined;
}

/** A small picture of an output; of a video without one, its first frame. */
export function Picture({ output, thumbnails, alt, shownWidth, isFirst = false, onFault }: PictureProps) {
  const [isFaulty, setFaulty] = useState(false);
  const address = thumbnails?.small ?? output.url;
  useEffect(() => setFaulty(false), [address]);
  const fail = (): void => {
    setFaulty(true);
    onFault?.();
  };
  if (isFaulty) return <span class="no-picture">Can’t be shown</span>;
  if (thumbnails === undefined && output.media_type === 'video')
    return <VideoFrame output={output} alt={alt} onFault={fail} />;
  const size = { width: output.width, height: output.height };
  return (
    <img
      {...(thumbnails === undefined
        ? { src: readable(output.url) }
        : { src: thumbnails.medium, srcSet: sourcesOf(thumbnails, output) })}
      sizes={typeof shownWidth === 'number' ? `${shownWidth}px` : shownWidth}
      {...size}
      alt={alt}
      loading={isFirst ? 'eager' : 'lazy'}
      fetchpriority={isFirst ? 'high' : undefined}
      decoding="async"
      onError={fail}
    />
  );
}

/** The most videos that a page loads at the same time. */
const MAX_VIDEOS = 4;
let videosLoading = 0;

/** The first frame of a video, once it comes into view. It plays, muted, while the pointer rests on it. */
function VideoFrame({
  output,
  alt,
  onFault,
}: Required<Pick<PictureProps, 'output' | 'alt'>> & { onFault: () => void }) {
  const place = useRef<HTMLVideoElement>(null);
  const [isLoading, setLoading] = useState(false);
  useEffect(() => {
    const element = place.current;
    if (element === null || isLoading) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const start = (): void => {
      if (videosLoading >= MAX_VIDEOS) {
        timer = setTimeout(start, 200);
        return;
      }
      videosLoading += 1;
      setLoading(true);
    };
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) {
        observer.disconnect();
        start();
      }
    });
    observer.observe(element);
    return () => {
      clearTimeout(timer);
      observer.disconnect();
    };
  }, [isLoading]);
  useEffect(() => {
    if (!isLoading) return;
    let isCounted = true;
    const done = (): void => {
      if (isCounted) videosLoading -= 1;
      isCounted = false;
    };
    const element = place.current;
    element?.addEventListener('loadeddata', done, { once: true });
    element?.addEventListener('error', done, { once: true });
    return done;
  }, [isLoading]);
  return (
    <video
      ref={place}
      {...(isLoading ? { src: readable(output.url) } : {})}
      width={output.width}
      height={output.height}
      muted
      loop
      playsInline
      preload="metadata"
      aria-label={alt === '' ? undefined : alt}
      aria-hidden={alt === '' ? true : undefined}
      onError={() => {
        if (isLoading) onFault();
      }}
      {...playedOnHover()}
    />
  );
}

const HOVER_MS = 300;

/** Plays a video after a moment of rest, and goes back to its beginning. Without motion for those who prefer that. */
function playedOnHover() {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    onPointerEnter: ({ currentTarget, pointerType }: { currentTarget: HTMLVideoElement; pointerType: string }) => {
      if (pointerType !== 'mouse' || matchMedia('(prefers-reduced-motion: reduce)').matches) return;
      timer = setTimeout(() => void currentTarget.play().catch(() => undefined), HOVER_MS);
    },
    onPointerLeave: ({ currentTarget }: { currentTarget: HTMLVideoElement }) => {
      clearTimeout(timer);
      currentTarget.pause();
      currentTarget.currentTime = 0;
    },
  };
}
