/* Whether the threads of a grid stay within memory, and out of each other's way.
 *
 * Told of every access of a kernel's threads, which one processor runs in turn. An access is a fault
 * where it is beside all that the kernel was given, and where another thread has accessed the same
 * byte, one of them writing, with no barrier of their block between. Memory that a block shares is
 * nobody's when a block begins, and may not be read before it is written.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANGES = 128, TEXT = 1 << 16 };
struct cell { int64_t writer, written, reader, read; }; /* threads from 1, and their barriers */
struct range { char *start; int64_t bytes; int shared; struct cell *cells; };
static struct range ranges[RANGES];
static int count, last;
static int64_t threads;
static const char *kernel = "";
static char text[TEXT];
static size_t used;
enum { SEVERAL = -1 };

const char *simt_reports(void) { return text; }
void simt_forget(void) { used = 0, text[0] = 0; }

static void report(const char *what, int64_t place, int64_t bytes, int64_t one, int64_t other, int number)
{
    if (used + 256 < TEXT)
        used += snprintf(text + used, 255, "%s: %s: %ld bytes at %ld of operand %d, threads %ld and %ld\n", kernel, what,
                         (long)bytes, (long)place, number, (long)one, (long)other);
}

void simt_range(char *start, int64_t bytes, int64_t shared)
{
    if (count < RANGES && bytes > 0)
        ranges[count++] = (struct range){start, bytes, (int)shared, calloc(bytes, sizeof(struct cell))};
}

/* Behind the parameters of a kernel stand the bytes of each of its pointers. */
void simt_begin(const char *name, void **parameters, int64_t pointers, int64_t words, int64_t block)
{
    for (int i = 0; i < count; i++)
        free(ranges[i].cells);
    count = last = 0, kernel = name, threads = block;
    for (int64_t i = 0; i < pointers; i++)
        simt_range(*(char **)parameters[i], *(int64_t *)parameters[words + i], 0);
}

static int meets(int64_t other, int64_t own, int64_t then, int64_t now, int64_t block)
{
    if (!other || other == own)
        return 0;
    if (other == SEVERAL)
        return then >= now || !block;
    return (other - 1) / threads != (own - 1) / threads || then >= now;
}

void simt_access(char *place, int64_t bytes, int64_t writes, int64_t thread, int64_t block, int64_t barriers)
{
    int64_t own = block * threads + thread + 1;
    struct range *r = &ranges[last];
    if (last >= count || place < r->start || place + bytes > r->start + r->bytes) {
        int i = 0;
        while (i < count && (place < ranges[i].start || place + bytes > ranges[i].start + ranges[i].bytes))
            i++;
        if (i == count) {
            int64_t nearest = -1;
            for (int k = 0; k < count; k++)
                if (place >= ranges[k].start && (nearest < 0 || ranges[k].start > ranges[nearest].start))
                    nearest = k;
            report(writes ? "writes outside" : "reads outside", nearest < 0 ? 0 : place - ranges[nearest].start, bytes,
                   own - 1, own - 1, (int)nearest);
            return;
        }
        last = i, r = &ranges[i];
    }
    for (char *p = place; p < place + bytes; p++) {
        struct cell *c = &r->cells[p - r->start];
        if (r->shared) {
            if (c->writer && (c->writer - 1) / threads != block)
                memset(c, 0, sizeof *c);
            if (!writes && !c->writer) {
                report("reads what no thread of the block wrote", p - r->start, 1, own - 1, own - 1, last);
                return;
            }
        }
        int same = c->reader != SEVERAL || r->shared;
        if (meets(c->writer, own, c->written, barriers, same) ||
            (writes && meets(c->reader, own, c->read, barriers, same))) {
            report(writes ? "a race to write" : "a race to read", p - r->start, bytes, own - 1,
                   (c->writer ? c->writer : c->reader) - 1, last);
            return;
        }
        if (writes)
            c->writer = own, c->written = barriers;
        else if (!c->reader || c->reader == own || (c->reader > 0 && (c->reader - 1) / threads == block && c->read < barriers))
            c->reader = own, c->read = barriers;
        else
            c->reader = SEVERAL, c->read = barriers;
    }
}
