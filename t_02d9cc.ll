; ModuleID = "flowc_c_abi"
target triple = "x86_64-unknown-linux-gnu"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"

@"flowc_abi_message_key" = internal global i32 -1
define internal void @"flowc_abi_drop_message"(ptr %"message") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".4" = icmp ne ptr %"message", @".text.0"
  br i1 %".4", label %"body.if", label %"body.endif"
body.if:
  call void @"free"(ptr %"message")
  br label %"body.endif"
body.endif:
  ret void
}

@".text.0" = private unnamed_addr constant [29 x i8] c"no memory for error messages\00"
declare void @"free"(ptr %".1")

define internal void @"flowc_abi_open_messages"() noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".3" = call i32 @"pthread_key_create"(ptr @"flowc_abi_message_key", ptr @"flowc_abi_drop_message")
  %".4" = icmp ne i32 %".3", 0
  br i1 %".4", label %"body.if", label %"body.endif"
body.if:
  store i32 -1, ptr @"flowc_abi_message_key"
  br label %"body.endif"
body.endif:
  ret void
}

declare i32 @"pthread_key_create"(ptr %".1", ptr %".2")

define internal ptr @"flowc_abi_message"() noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".3" = load i32, ptr @"flowc_abi_message_key"
  %".4" = icmp slt i32 %".3", 0
  br i1 %".4", label %"body.if", label %"body.endif"
body.if:
  ret ptr null
body.endif:
  %".7" = call ptr @"pthread_getspecific"(i32 %".3")
  %".8" = icmp ne ptr %".7", null
  %".9" = icmp ne ptr %".7", @".text.0"
  %".10" = and i1 %".8", %".9"
  br i1 %".10", label %"body.endif.if", label %"body.endif.endif"
body.endif.if:
  ret ptr %".7"
body.endif.endif:
  %".13" = call ptr @"malloc"(i64 1024)
  %".14" = icmp ne ptr %".13", null
  %".15" = select  i1 %".14", ptr %".13", ptr @".text.0"
  %".16" = call i32 @"pthread_setspecific"(i32 %".3", ptr %".15")
  ret ptr %".13"
}

declare ptr @"pthread_getspecific"(i32 %".1")

declare ptr @"malloc"(i64 %".1")

declare i32 @"pthread_setspecific"(i32 %".1", ptr %".2")

define ptr @"flowc_last_error"() noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".3" = load i32, ptr @"flowc_abi_message_key"
  %".4" = icmp slt i32 %".3", 0
  br i1 %".4", label %"body.if", label %"body.endif"
body.if:
  ret ptr @".text.0"
body.endif:
  %".7" = call ptr @"pthread_getspecific"(i32 %".3")
  %".8" = icmp ne ptr %".7", null
  %".9" = select  i1 %".8", ptr %".7", ptr @".text.1"
  ret ptr %".9"
}

@".text.1" = private unnamed_addr constant [1 x i8] c"\00"
define void @"flowc_free"(ptr %"memory") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  call void @"free"(ptr %"memory")
  ret void
}

define internal void @"flowc_abi_close_messages"() noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".3" = load i32, ptr @"flowc_abi_message_key"
  %".4" = icmp sge i32 %".3", 0
  br i1 %".4", label %"body.if", label %"body.endif"
body.if:
  %".6" = call ptr @"pthread_getspecific"(i32 %".3")
  call void @"flowc_abi_drop_message"(ptr %".6")
  %".8" = call i32 @"pthread_key_delete"(i32 %".3")
  br label %"body.endif"
body.endif:
  ret void
}

declare i32 @"pthread_key_delete"(i32 %".1")

@"flowc_weights_address" = internal global ptr null
@"flowc_weights_path" = internal global [4096 x i8] zeroinitializer
@"flowc_weights_reason" = internal global ptr null
@"flowc_weights_descriptor" = internal global i32 0
define internal i32 @"flowc_weights_is_right"(i32 %"descriptor") noinline nounwind optsize
{
entry:
  %".4" = alloca [64 x i8], align 8
  br label %"body"
body:
  %".5" = call i64 @"pread"(i32 %"descriptor", ptr %".4", i64 64, i64 0)
  %".6" = icmp ne i64 %".5", 64
  br i1 %".6", label %"body.if", label %"body.endif"
body.if:
  ret i32 0
body.endif:
  %".9" = call i32 @"memcmp"(ptr %".4", ptr @".header.2", i64 64)
  %".10" = call i64 @"lseek"(i32 %"descriptor", i64 0, i32 2)
  %".11" = icmp eq i64 %".10", 80
  %".12" = icmp eq i32 %".9", 0
  %".13" = and i1 %".12", %".11"
  %".14" = zext i1 %".13" to i32
  ret i32 %".14"
}

declare i64 @"pread"(i32 %".1", ptr %".2", i64 %".3", i64 %".4")

@".header.2" = private unnamed_addr constant [64 x i8] c"FLOWCWTS\01\00\00\00\00\00\00\00\10\00\00\00\00\00\00\00\ads\b9\ac\d6\e4\a7K/[\b58fX\ce;\b1F\cd\04\0a\18gdj\b3\b9s\fbf2\b1\00\00\00\00\00\00\00\00"
declare i32 @"memcmp"(ptr %".1", ptr %".2", i64 %".3")

declare i64 @"lseek"(i32 %".1", i64 %".2", i32 %".3")

define internal i32 @"flowc_weights_is_whole"(ptr %"blob") noinline nounwind optsize
{
entry:
  %".4" = alloca i64
  %".6" = alloca i64
  %".8" = alloca i64
  %".10" = alloca i64
  %".12" = alloca i64
  %".14" = alloca i64
  %".16" = alloca i64
  %".18" = alloca i64
  %".20" = alloca i64
  %".22" = alloca i64
  br label %"body"
body:
  store i64 0, ptr %".4"
  store i64 0, ptr %".6"
  store i64 0, ptr %".8"
  store i64 0, ptr %".10"
  store i64 0, ptr %".12"
  store i64 0, ptr %".14"
  store i64 0, ptr %".16"
  store i64 0, ptr %".18"
  store i64 0, ptr %".20"
  store i64 0, ptr %".22"
  br label %"loop"
loop:
  %".25" = load i64, ptr %".4"
  %".26" = icmp eq i64 %".25", 8
  br i1 %".26", label %"done", label %"stay"
done:
  %".101" = load i64, ptr %".8"
  %".102" = icmp ne i64 %".101", 4611686019492741120
  br i1 %".102", label %"done.if", label %"done.endif"
stay:
  %".28" = load i64, ptr %".6"
  %".29" = or i64 %".28", 1
  %".30" = load i64, ptr %".4"
  %".31" = add i64 %".30", 0
  %".32" = getelementptr i64, ptr %"blob", i64 %".31"
  %".33" = load i64, ptr %".32"
  %".34" = load i64, ptr %".8"
  %".35" = mul i64 %".33", %".29"
  %".36" = add i64 %".34", %".35"
  store i64 %".36", ptr %".8"
  %".38" = load i64, ptr %".4"
  %".39" = add i64 %".38", 1
  %".40" = getelementptr i64, ptr %"blob", i64 %".39"
  %".41" = load i64, ptr %".40"
  %".42" = load i64, ptr %".10"
  %".43" = mul i64 %".41", %".29"
  %".44" = add i64 %".42", %".43"
  store i64 %".44", ptr %".10"
  %".46" = load i64, ptr %".4"
  %".47" = add i64 %".46", 2
  %".48" = getelementptr i64, ptr %"blob", i64 %".47"
  %".49" = load i64, ptr %".48"
  %".50" = load i64, ptr %".12"
  %".51" = mul i64 %".49", %".29"
  %".52" = add i64 %".50", %".51"
  store i64 %".52", ptr %".12"
  %".54" = load i64, ptr %".4"
  %".55" = add i64 %".54", 3
  %".56" = getelementptr i64, ptr %"blob", i64 %".55"
  %".57" = load i64, ptr %".56"
  %".58" = load i64, ptr %".14"
  %".59" = mul i64 %".57", %".29"
  %".60" = add i64 %".58", %".59"
  store i64 %".60", ptr %".14"
  %".62" = load i64, ptr %".4"
  %".63" = add i64 %".62", 4
  %".64" = getelementptr i64, ptr %"blob", i64 %".63"
  %".65" = load i64, ptr %".64"
  %".66" = load i64, ptr %".16"
  %".67" = mul i64 %".65", %".29"
  %".68" = add i64 %".66", %".67"
  store i64 %".68", ptr %".16"
  %".70" = load i64, ptr %".4"
  %".71" = add i64 %".70", 5
  %".72" = getelementptr i64, ptr %"blob", i64 %".71"
  %".73" = load i64, ptr %".72"
  %".74" = load i64, ptr %".18"
  %".75" = mul i64 %".73", %".29"
  %".76" = add i64 %".74", %".75"
  store i64 %".76", ptr %".18"
  %".78" = load i64, ptr %".4"
  %".79" = add i64 %".78", 6
  %".80" = getelementptr i64, ptr %"blob", i64 %".79"
  %".81" = load i64, ptr %".80"
  %".82" = load i64, ptr %".20"
  %".83" = mul i64 %".81", %".29"
  %".84" = add i64 %".82", %".83"
  store i64 %".84", ptr %".20"
  %".86" = load i64, ptr %".4"
  %".87" = add i64 %".86", 7
  %".88" = getelementptr i64, ptr %"blob", i64 %".87"
  %".89" = load i64, ptr %".88"
  %".90" = load i64, ptr %".22"
  %".91" = mul i64 %".89", %".29"
  %".92" = add i64 %".90", %".91"
  store i64 %".92", ptr %".22"
  %".94" = load i64, ptr %".4"
  %".95" = add i64 %".94", 8
  store i64 %".95", ptr %".4"
  %".97" = load i64, ptr %".6"
  %".98" = add i64 %".97", 11400714819323198485
  store i64 %".98", ptr %".6"
  br label %"loop"
done.if:
  ret i32 0
done.endif:
  %".105" = load i64, ptr %".10"
  %".106" = icmp ne i64 %".105", 4647714816524288000
  br i1 %".106", label %"done.endif.if", label %"done.endif.endif"
done.endif.if:
  ret i32 0
done.endif.endif:
  %".109" = load i64, ptr %".12"
  %".110" = icmp ne i64 %".109", 0
  br i1 %".110", label %"done.endif.endif.if", label %"done.endif.endif.endif"
done.endif.endif.if:
  ret i32 0
done.endif.endif.endif:
  %".113" = load i64, ptr %".14"
  %".114" = icmp ne i64 %".113", 0
  br i1 %".114", label %"done.endif.endif.endif.if", label %"done.endif.endif.endif.endif"
done.endif.endif.endif.if:
  ret i32 0
done.endif.endif.endif.endif:
  %".117" = load i64, ptr %".16"
  %".118" = icmp ne i64 %".117", 0
  br i1 %".118", label %"done.endif.endif.endif.endif.if", label %"done.endif.endif.endif.endif.endif"
done.endif.endif.endif.endif.if:
  ret i32 0
done.endif.endif.endif.endif.endif:
  %".121" = load i64, ptr %".18"
  %".122" = icmp ne i64 %".121", 0
  br i1 %".122", label %"done.endif.endif.endif.endif.endif.if", label %"done.endif.endif.endif.endif.endif.endif"
done.endif.endif.endif.endif.endif.if:
  ret i32 0
done.endif.endif.endif.endif.endif.endif:
  %".125" = load i64, ptr %".20"
  %".126" = icmp ne i64 %".125", 0
  br i1 %".126", label %"done.endif.endif.endif.endif.endif.endif.if", label %"done.endif.endif.endif.endif.endif.endif.endif"
done.endif.endif.endif.endif.endif.endif.if:
  ret i32 0
done.endif.endif.endif.endif.endif.endif.endif:
  %".129" = load i64, ptr %".22"
  %".130" = icmp ne i64 %".129", 0
  br i1 %".130", label %"done.endif.endif.endif.endif.endif.endif.endif.if", label %"done.endif.endif.endif.endif.endif.endif.endif.endif"
done.endif.endif.endif.endif.endif.endif.endif.if:
  ret i32 0
done.endif.endif.endif.endif.endif.endif.endif.endif:
  ret i32 1
}

define internal i32 @"flowc_weights_map"() noinline nounwind optsize
{
entry:
  %".21" = alloca i64
  br label %"body"
body:
  %".3" = call i32 (ptr, i32, ...) @"open"(ptr @"flowc_weights_path", i32 526592)
  %".4" = icmp slt i32 %".3", 0
  br i1 %".4", label %"body.if", label %"body.endif"
body.if:
  store ptr @".text.3", ptr @"flowc_weights_reason"
  ret i32 0
body.endif:
  %".8" = call i32 @"flowc_weights_is_right"(i32 %".3")
  %".9" = icmp eq i32 %".8", 0
  br i1 %".9", label %"body.endif.if", label %"body.endif.endif"
body.endif.if:
  store ptr @".text.4", ptr @"flowc_weights_reason"
  %".12" = call i32 @"close"(i32 %".3")
  ret i32 1
body.endif.endif:
  %".14" = call ptr @"mmap"(ptr null, i64 80, i32 3, i32 34, i32 -1, i64 0)
  %".15" = ptrtoint ptr %".14" to i64
  %".16" = icmp eq i64 %".15", -1
  br i1 %".16", label %"body.endif.endif.if", label %"body.endif.endif.endif"
body.endif.endif.if:
  store ptr @".text.5", ptr @"flowc_weights_reason"
  %".19" = call i32 @"close"(i32 %".3")
  ret i32 1
body.endif.endif.endif:
  store i64 0, ptr %".21"
  br label %"loop"
loop:
  %".24" = load i64, ptr %".21"
  %".25" = icmp eq i64 %".24", 80
  br i1 %".25", label %"done", label %"stay"
done:
  %".46" = call i32 @"close"(i32 %".3")
  %".47" = getelementptr i64, ptr %".14", i64 8
  %".48" = call i32 @"flowc_weights_is_whole"(ptr %".47")
  %".49" = icmp eq i32 %".48", 0
  br i1 %".49", label %"done.if", label %"done.endif"
stay:
  %".27" = load i64, ptr %".21"
  %".28" = sub i64 80, %".27"
  %".29" = load i64, ptr %".21"
  %".30" = getelementptr i8, ptr %".14", i64 %".29"
  %".31" = load i64, ptr %".21"
  %".32" = call i64 @"pread"(i32 %".3", ptr %".30", i64 %".28", i64 %".31")
  %".33" = icmp sle i64 %".32", 0
  br i1 %".33", label %"stay.if", label %"stay.endif"
stay.if:
  %".35" = call i32 @"munmap"(ptr %".14", i64 80)
  br label %"stay.endif"
stay.endif:
  %".37" = icmp sle i64 %".32", 0
  br i1 %".37", label %"stay.endif.if", label %"stay.endif.endif"
stay.endif.if:
  store ptr @".text.6", ptr @"flowc_weights_reason"
  %".40" = call i32 @"close"(i32 %".3")
  ret i32 1
stay.endif.endif:
  %".42" = load i64, ptr %".21"
  %".43" = add i64 %".42", %".32"
  store i64 %".43", ptr %".21"
  br label %"loop"
done.if:
  store ptr @".text.7", ptr @"flowc_weights_reason"
  %".52" = call i32 @"munmap"(ptr %".14", i64 80)
  ret i32 1
done.endif:
  store ptr %".47", ptr @"flowc_weights_address"
  ret i32 1
}

declare i32 @"open"(ptr %".1", i32 %".2", ...)

@".text.3" = private unnamed_addr constant [48 x i8] c"cannot be opened; it belongs beside the library\00"
@".text.4" = private unnamed_addr constant [48 x i8] c"is not the one that this library was built with\00"
declare i32 @"close"(i32 %".1")

declare ptr @"mmap"(ptr %".1", i64 %".2", i32 %".3", i32 %".4", i32 %".5", i64 %".6")

@".text.5" = private unnamed_addr constant [41 x i8] c"cannot be mapped: address space is short\00"
declare i32 @"munmap"(ptr %".1", i64 %".2")

@".text.6" = private unnamed_addr constant [15 x i8] c"cannot be read\00"
@".text.7" = private unnamed_addr constant [63 x i8] c"is damaged: its weights are not those that it was written with\00"
define internal void @"flowc_weights_close"() noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".3" = load ptr, ptr @"flowc_weights_address"
  %".4" = icmp ne ptr %".3", null
  br i1 %".4", label %"body.if", label %"body.endif"
body.if:
  %".6" = getelementptr i64, ptr %".3", i64 -8
  %".7" = call i32 @"munmap"(ptr %".6", i64 80)
  store ptr null, ptr @"flowc_weights_address"
  br label %"body.endif"
body.endif:
  ret void
}

define internal void @"flowc_weights_open"() noinline nounwind optsize
{
entry:
  %".4" = alloca [32 x i8], align 8
  br label %"body"
body:
  store ptr @".text.8", ptr @"flowc_weights_reason"
  %".5" = call i32 @"dladdr"(ptr @"flowc_weights_open", ptr %".4")
  %".6" = icmp eq i32 %".5", 0
  br i1 %".6", label %"body.if", label %"body.endif"
body.if:
  ret void
body.endif:
  %".9" = getelementptr ptr, ptr %".4", i64 0
  %".10" = load ptr, ptr %".9"
  %".11" = icmp eq ptr %".10", null
  br i1 %".11", label %"body.endif.if", label %"body.endif.endif"
body.endif.if:
  ret void
body.endif.endif:
  %".14" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr @"flowc_weights_path", i64 4096, ptr @".text.9", ptr %".10")
  %".15" = call i32 @"flowc_weights_map"()
  %".16" = load ptr, ptr @"flowc_weights_address"
  %".17" = icmp ne ptr %".16", null
  br i1 %".17", label %"body.endif.endif.if", label %"body.endif.endif.endif"
body.endif.endif.if:
  ret void
body.endif.endif.endif:
  %".20" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr @"flowc_weights_path", i64 4096, ptr @".text.10", ptr %".10")
  %".21" = call i32 @"flowc_weights_map"()
  %".22" = icmp ne i32 %".21", 0
  br i1 %".22", label %"body.endif.endif.endif.if", label %"body.endif.endif.endif.endif"
body.endif.endif.endif.if:
  ret void
body.endif.endif.endif.endif:
  %".25" = call ptr @"realpath"(ptr %".10", ptr null)
  %".26" = icmp ne ptr %".25", null
  br i1 %".26", label %"body.endif.endif.endif.endif.if", label %"body.endif.endif.endif.endif.endif"
body.endif.endif.endif.endif.if:
  %".28" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr @"flowc_weights_path", i64 4096, ptr @".text.9", ptr %".25")
  %".29" = call i32 @"flowc_weights_map"()
  %".30" = load ptr, ptr @"flowc_weights_address"
  %".31" = icmp ne ptr %".30", null
  br i1 %".31", label %"body.endif.endif.endif.endif.if.if", label %"body.endif.endif.endif.endif.if.endif"
body.endif.endif.endif.endif.endif:
  ret void
body.endif.endif.endif.endif.if.if:
  ret void
body.endif.endif.endif.endif.if.endif:
  %".34" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr @"flowc_weights_path", i64 4096, ptr @".text.10", ptr %".25")
  %".35" = call i32 @"flowc_weights_map"()
  call void @"free"(ptr %".25")
  br label %"body.endif.endif.endif.endif.endif"
}

@".text.8" = private unnamed_addr constant [56 x i8] c"cannot be found: the library does not know its own path\00"
declare i32 @"dladdr"(ptr %".1", ptr %".2")

@".text.9" = private unnamed_addr constant [28 x i8] c"%s.weights-ad73b9acd6e4a74b\00"
declare i32 @"snprintf"(ptr %".1", i64 %".2", ptr %".3", ...)

@".text.10" = private unnamed_addr constant [11 x i8] c"%s.weights\00"
declare ptr @"realpath"(ptr %".1", ptr %".2")

define i32 @"flowc_abi_version"() noinline nounwind optsize
{
entry:
  br label %"body"
body:
  ret i32 3
}

define ptr @"flowc_version"() noinline nounwind optsize
{
entry:
  br label %"body"
body:
  ret ptr @".text.11"
}

@".text.11" = private unnamed_addr constant [9 x i8] c"0.0-test\00"
define ptr @"flowc_model_name"() noinline nounwind optsize
{
entry:
  br label %"body"
body:
  ret ptr @".text.12"
}

@".text.12" = private unnamed_addr constant [5 x i8] c"hand\00"
define ptr @"flowc_metadata"() noinline nounwind optsize
{
entry:
  br label %"body"
body:
  ret ptr @".text.13"
}

@".text.13" = private unnamed_addr constant [662 x i8] c"{\22name\22:\22hand\22,\22format\22:1,\22flowc\22:\220.0-test\22,\22inputs\22:[{\22name\22:\22in/x:0\22,\22dtype\22:\22f32\22,\22dims\22:[\22batch\22,4]},{\22name\22:\22k:0\22,\22dtype\22:\22i64\22,\22dims\22:[]}],\22outputs\22:[{\22name\22:\22y:0\22,\22dtype\22:\22f32\22,\22dims\22:[\22batch\22,4]},{\22name\22:\22kept:0\22,\22dtype\22:\22f32\22,\22dims\22:[\22kept_count\22]},{\22name\22:\22steps:0\22,\22dtype\22:\22i64\22,\22dims\22:[\22step_count\22]}],\22variables\22:[],\22in_place\22:[],\22sizes\22:[\22batch\22,\22kept_count\22,\22step_count\22],\22input_sizes\22:1,\22constraints\22:[],\22errors\22:[{\22message\22:\22k = {a} is not in [{b}, 100%)\22,\22node\22:\22top/K\22,\22class\22:\22InvalidArgumentError\22},{\22message\22:\22{a} bytes asked for\22,\22node\22:\22top/K\22,\22class\22:\22ResourceExhaustedError\22}],\22weights_bytes\22:16,\22prefix\22:\22out\22,\22needs_instance\22:false}\00"
define i32 @"flowc_input_count"() noinline nounwind optsize
{
entry:
  br label %"body"
body:
  ret i32 2
}

@".text.14" = private unnamed_addr constant [7 x i8] c"in/x:0\00"
@".text.15" = private unnamed_addr constant [4 x i8] c"k:0\00"
define ptr @"flowc_input_name"(i32 %"input") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".4" = icmp ult i32 %"input", 2
  %".5" = xor i1 %".4", -1
  br i1 %".5", label %"body.if", label %"body.endif"
body.if:
  ret ptr null
body.endif:
  %".8" = sext i32 %"input" to i64
  %".9" = getelementptr ptr, ptr @".rows.16", i64 %".8"
  %".10" = load ptr, ptr %".9"
  ret ptr %".10"
}

@".rows.16" = private unnamed_addr constant [2 x ptr] [ptr @".text.14", ptr @".text.15"]
define i32 @"flowc_input_dtype"(i32 %"input") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".4" = icmp ult i32 %"input", 2
  %".5" = xor i1 %".4", -1
  br i1 %".5", label %"body.if", label %"body.endif"
body.if:
  ret i32 0
body.endif:
  %".8" = sext i32 %"input" to i64
  %".9" = getelementptr i32, ptr @".rows.17", i64 %".8"
  %".10" = load i32, ptr %".9"
  ret i32 %".10"
}

@".rows.17" = private unnamed_addr constant [2 x i32] [i32 1, i32 9]
define i32 @"flowc_input_rank"(i32 %"input") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".4" = icmp ult i32 %"input", 2
  %".5" = xor i1 %".4", -1
  br i1 %".5", label %"body.if", label %"body.endif"
body.if:
  ret i32 -1
body.endif:
  %".8" = sext i32 %"input" to i64
  %".9" = getelementptr i32, ptr @".rows.18", i64 %".8"
  %".10" = load i32, ptr %".9"
  ret i32 %".10"
}

@".rows.18" = private unnamed_addr constant [2 x i32] [i32 2, i32 0]
@".dims.19" = private unnamed_addr constant [2 x i64] [i64 -1, i64 4]
@".dims.20" = private unnamed_addr constant [1 x i64] zeroinitializer
define i32 @"flowc_input_dims"(i32 %"input", ptr %"dims") noinline nounwind optsize
{
entry:
  %".28" = alloca i64
  br label %"body"
body:
  %".5" = call i32 @"flowc_input_rank"(i32 %"input")
  %".6" = icmp slt i32 %".5", 0
  br i1 %".6", label %"body.if", label %"body.endif"
body.if:
  %".8" = call ptr @"flowc_abi_message"()
  %".9" = icmp ne ptr %".8", null
  br i1 %".9", label %"body.if.if", label %"body.if.endif"
body.endif:
  %".14" = icmp eq ptr %"dims", null
  %".15" = icmp ne i32 %".5", 0
  %".16" = and i1 %".14", %".15"
  br i1 %".16", label %"body.endif.if", label %"body.endif.endif"
body.if.if:
  %".11" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".8", i64 1024, ptr @".text.21", i32 %"input")
  br label %"body.if.endif"
body.if.endif:
  ret i32 2
body.endif.if:
  %".18" = call ptr @"flowc_abi_message"()
  %".19" = icmp ne ptr %".18", null
  br i1 %".19", label %"body.endif.if.if", label %"body.endif.if.endif"
body.endif.endif:
  %".24" = sext i32 %"input" to i64
  %".25" = getelementptr ptr, ptr @".rows.23", i64 %".24"
  %".26" = load ptr, ptr %".25"
  %".27" = sext i32 %".5" to i64
  store i64 0, ptr %".28"
  br label %"loop"
body.endif.if.if:
  %".21" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".18", i64 1024, ptr @".text.22")
  br label %"body.endif.if.endif"
body.endif.if.endif:
  ret i32 2
loop:
  %".31" = load i64, ptr %".28"
  %".32" = icmp sge i64 %".31", %".27"
  br i1 %".32", label %"done", label %"stay"
done:
  ret i32 0
stay:
  %".34" = getelementptr i64, ptr %".26", i64 %".31"
  %".35" = load i64, ptr %".34"
  %".36" = getelementptr i64, ptr %"dims", i64 %".31"
  store i64 %".35", ptr %".36"
  %".38" = add i64 %".31", 1
  store i64 %".38", ptr %".28"
  br label %"loop"
}

@".text.21" = private unnamed_addr constant [26 x i8] c"the model has no input %d\00"
@".text.22" = private unnamed_addr constant [13 x i8] c"dims is NULL\00"
@".rows.23" = private unnamed_addr constant [2 x ptr] [ptr @".dims.19", ptr @".dims.20"]
define i32 @"flowc_output_count"() noinline nounwind optsize
{
entry:
  br label %"body"
body:
  ret i32 3
}

@".text.24" = private unnamed_addr constant [4 x i8] c"y:0\00"
@".text.25" = private unnamed_addr constant [7 x i8] c"kept:0\00"
@".text.26" = private unnamed_addr constant [8 x i8] c"steps:0\00"
define ptr @"flowc_output_name"(i32 %"output") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".4" = icmp ult i32 %"output", 3
  %".5" = xor i1 %".4", -1
  br i1 %".5", label %"body.if", label %"body.endif"
body.if:
  ret ptr null
body.endif:
  %".8" = sext i32 %"output" to i64
  %".9" = getelementptr ptr, ptr @".rows.27", i64 %".8"
  %".10" = load ptr, ptr %".9"
  ret ptr %".10"
}

@".rows.27" = private unnamed_addr constant [3 x ptr] [ptr @".text.24", ptr @".text.25", ptr @".text.26"]
define i32 @"flowc_output_dtype"(i32 %"output") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".4" = icmp ult i32 %"output", 3
  %".5" = xor i1 %".4", -1
  br i1 %".5", label %"body.if", label %"body.endif"
body.if:
  ret i32 0
body.endif:
  %".8" = sext i32 %"output" to i64
  %".9" = getelementptr i32, ptr @".rows.28", i64 %".8"
  %".10" = load i32, ptr %".9"
  ret i32 %".10"
}

@".rows.28" = private unnamed_addr constant [3 x i32] [i32 1, i32 1, i32 9]
define i32 @"flowc_output_rank"(i32 %"output") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".4" = icmp ult i32 %"output", 3
  %".5" = xor i1 %".4", -1
  br i1 %".5", label %"body.if", label %"body.endif"
body.if:
  ret i32 -1
body.endif:
  %".8" = sext i32 %"output" to i64
  %".9" = getelementptr i32, ptr @".rows.29", i64 %".8"
  %".10" = load i32, ptr %".9"
  ret i32 %".10"
}

@".rows.29" = private unnamed_addr constant [3 x i32] [i32 2, i32 1, i32 1]
@".dims.30" = private unnamed_addr constant [1 x i64] [i64 -1]
define i32 @"flowc_output_dims"(i32 %"output", ptr %"dims") noinline nounwind optsize
{
entry:
  %".28" = alloca i64
  br label %"body"
body:
  %".5" = call i32 @"flowc_output_rank"(i32 %"output")
  %".6" = icmp slt i32 %".5", 0
  br i1 %".6", label %"body.if", label %"body.endif"
body.if:
  %".8" = call ptr @"flowc_abi_message"()
  %".9" = icmp ne ptr %".8", null
  br i1 %".9", label %"body.if.if", label %"body.if.endif"
body.endif:
  %".14" = icmp eq ptr %"dims", null
  %".15" = icmp ne i32 %".5", 0
  %".16" = and i1 %".14", %".15"
  br i1 %".16", label %"body.endif.if", label %"body.endif.endif"
body.if.if:
  %".11" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".8", i64 1024, ptr @".text.31", i32 %"output")
  br label %"body.if.endif"
body.if.endif:
  ret i32 2
body.endif.if:
  %".18" = call ptr @"flowc_abi_message"()
  %".19" = icmp ne ptr %".18", null
  br i1 %".19", label %"body.endif.if.if", label %"body.endif.if.endif"
body.endif.endif:
  %".24" = sext i32 %"output" to i64
  %".25" = getelementptr ptr, ptr @".rows.32", i64 %".24"
  %".26" = load ptr, ptr %".25"
  %".27" = sext i32 %".5" to i64
  store i64 0, ptr %".28"
  br label %"loop"
body.endif.if.if:
  %".21" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".18", i64 1024, ptr @".text.22")
  br label %"body.endif.if.endif"
body.endif.if.endif:
  ret i32 2
loop:
  %".31" = load i64, ptr %".28"
  %".32" = icmp sge i64 %".31", %".27"
  br i1 %".32", label %"done", label %"stay"
done:
  ret i32 0
stay:
  %".34" = getelementptr i64, ptr %".26", i64 %".31"
  %".35" = load i64, ptr %".34"
  %".36" = getelementptr i64, ptr %"dims", i64 %".31"
  store i64 %".35", ptr %".36"
  %".38" = add i64 %".31", 1
  store i64 %".38", ptr %".28"
  br label %"loop"
}

@".text.31" = private unnamed_addr constant [27 x i8] c"the model has no output %d\00"
@".rows.32" = private unnamed_addr constant [3 x ptr] [ptr @".dims.19", ptr @".dims.30", ptr @".dims.30"]
define i32 @"flowc_variable_count"() noinline nounwind optsize
{
entry:
  br label %"body"
body:
  ret i32 0
}

define ptr @"flowc_variable_name"(i32 %"variable") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".4" = icmp ult i32 %"variable", 0
  %".5" = xor i1 %".4", -1
  br i1 %".5", label %"body.if", label %"body.endif"
body.if:
  ret ptr null
body.endif:
  %".8" = sext i32 %"variable" to i64
  %".9" = getelementptr ptr, ptr @".rows.33", i64 %".8"
  %".10" = load ptr, ptr %".9"
  ret ptr %".10"
}

@".rows.33" = private unnamed_addr constant [1 x ptr] zeroinitializer
define i32 @"flowc_variable_dtype"(i32 %"variable") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".4" = icmp ult i32 %"variable", 0
  %".5" = xor i1 %".4", -1
  br i1 %".5", label %"body.if", label %"body.endif"
body.if:
  ret i32 0
body.endif:
  %".8" = sext i32 %"variable" to i64
  %".9" = getelementptr i32, ptr @".rows.34", i64 %".8"
  %".10" = load i32, ptr %".9"
  ret i32 %".10"
}

@".rows.34" = private unnamed_addr constant [1 x i32] zeroinitializer
define i32 @"flowc_variable_rank"(i32 %"variable") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".4" = icmp ult i32 %"variable", 0
  %".5" = xor i1 %".4", -1
  br i1 %".5", label %"body.if", label %"body.endif"
body.if:
  ret i32 -1
body.endif:
  %".8" = sext i32 %"variable" to i64
  %".9" = getelementptr i32, ptr @".rows.34", i64 %".8"
  %".10" = load i32, ptr %".9"
  ret i32 %".10"
}

define i32 @"flowc_variable_dims"(i32 %"variable", ptr %"dims") noinline nounwind optsize
{
entry:
  %".28" = alloca i64
  br label %"body"
body:
  %".5" = call i32 @"flowc_variable_rank"(i32 %"variable")
  %".6" = icmp slt i32 %".5", 0
  br i1 %".6", label %"body.if", label %"body.endif"
body.if:
  %".8" = call ptr @"flowc_abi_message"()
  %".9" = icmp ne ptr %".8", null
  br i1 %".9", label %"body.if.if", label %"body.if.endif"
body.endif:
  %".14" = icmp eq ptr %"dims", null
  %".15" = icmp ne i32 %".5", 0
  %".16" = and i1 %".14", %".15"
  br i1 %".16", label %"body.endif.if", label %"body.endif.endif"
body.if.if:
  %".11" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".8", i64 1024, ptr @".text.35", i32 %"variable")
  br label %"body.if.endif"
body.if.endif:
  ret i32 2
body.endif.if:
  %".18" = call ptr @"flowc_abi_message"()
  %".19" = icmp ne ptr %".18", null
  br i1 %".19", label %"body.endif.if.if", label %"body.endif.if.endif"
body.endif.endif:
  %".24" = sext i32 %"variable" to i64
  %".25" = getelementptr ptr, ptr @".rows.33", i64 %".24"
  %".26" = load ptr, ptr %".25"
  %".27" = sext i32 %".5" to i64
  store i64 0, ptr %".28"
  br label %"loop"
body.endif.if.if:
  %".21" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".18", i64 1024, ptr @".text.22")
  br label %"body.endif.if.endif"
body.endif.if.endif:
  ret i32 2
loop:
  %".31" = load i64, ptr %".28"
  %".32" = icmp sge i64 %".31", %".27"
  br i1 %".32", label %"done", label %"stay"
done:
  ret i32 0
stay:
  %".34" = getelementptr i64, ptr %".26", i64 %".31"
  %".35" = load i64, ptr %".34"
  %".36" = getelementptr i64, ptr %"dims", i64 %".31"
  store i64 %".35", ptr %".36"
  %".38" = add i64 %".31", 1
  store i64 %".38", ptr %".28"
  br label %"loop"
}

@".text.35" = private unnamed_addr constant [29 x i8] c"the model has no variable %d\00"
define ptr @"flowc_input_dim_name"(i32 %"input", i32 %"axis") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".5" = call i32 @"flowc_input_rank"(i32 %"input")
  %".6" = icmp sgt i32 %".5", 0
  %".7" = select  i1 %".6", i32 %".5", i32 0
  %".8" = icmp ult i32 %"axis", %".7"
  %".9" = xor i1 %".8", -1
  br i1 %".9", label %"body.if", label %"body.endif"
body.if:
  ret ptr null
body.endif:
  %".12" = sext i32 %"input" to i64
  %".13" = getelementptr ptr, ptr @".rows.39", i64 %".12"
  %".14" = load ptr, ptr %".13"
  %".15" = sext i32 %"axis" to i64
  %".16" = getelementptr ptr, ptr %".14", i64 %".15"
  %".17" = load ptr, ptr %".16"
  ret ptr %".17"
}

@".text.36" = private unnamed_addr constant [6 x i8] c"batch\00"
@".names.37" = private unnamed_addr constant [2 x ptr] [ptr @".text.36", ptr null]
@".names.38" = private unnamed_addr constant [1 x ptr] zeroinitializer
@".rows.39" = private unnamed_addr constant [2 x ptr] [ptr @".names.37", ptr @".names.38"]
define ptr @"flowc_output_dim_name"(i32 %"output", i32 %"axis") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".5" = call i32 @"flowc_output_rank"(i32 %"output")
  %".6" = icmp sgt i32 %".5", 0
  %".7" = select  i1 %".6", i32 %".5", i32 0
  %".8" = icmp ult i32 %"axis", %".7"
  %".9" = xor i1 %".8", -1
  br i1 %".9", label %"body.if", label %"body.endif"
body.if:
  ret ptr null
body.endif:
  %".12" = sext i32 %"output" to i64
  %".13" = getelementptr ptr, ptr @".rows.44", i64 %".12"
  %".14" = load ptr, ptr %".13"
  %".15" = sext i32 %"axis" to i64
  %".16" = getelementptr ptr, ptr %".14", i64 %".15"
  %".17" = load ptr, ptr %".16"
  ret ptr %".17"
}

@".text.40" = private unnamed_addr constant [11 x i8] c"kept_count\00"
@".names.41" = private unnamed_addr constant [1 x ptr] [ptr @".text.40"]
@".text.42" = private unnamed_addr constant [11 x i8] c"step_count\00"
@".names.43" = private unnamed_addr constant [1 x ptr] [ptr @".text.42"]
@".rows.44" = private unnamed_addr constant [3 x ptr] [ptr @".names.37", ptr @".names.41", ptr @".names.43"]
define internal i64 @"flowc_abi_count"(ptr %"dims", i64 %"rank") noinline nounwind optsize
{
entry:
  %".5" = alloca i64
  %".19" = alloca i64
  %".33" = alloca i64
  %".35" = alloca i64
  br label %"body"
body:
  store i64 0, ptr %".5"
  br label %"loop"
loop:
  %".8" = load i64, ptr %".5"
  %".9" = icmp sge i64 %".8", %"rank"
  br i1 %".9", label %"done", label %"stay"
done:
  store i64 0, ptr %".19"
  br label %"loop.1"
stay:
  %".11" = getelementptr i64, ptr %"dims", i64 %".8"
  %".12" = load i64, ptr %".11"
  %".13" = icmp slt i64 %".12", 0
  br i1 %".13", label %"stay.if", label %"stay.endif"
stay.if:
  ret i64 -2
stay.endif:
  %".16" = add i64 %".8", 1
  store i64 %".16", ptr %".5"
  br label %"loop"
loop.1:
  %".22" = load i64, ptr %".19"
  %".23" = icmp sge i64 %".22", %"rank"
  br i1 %".23", label %"done.1", label %"stay.1"
done.1:
  store i64 1, ptr %".33"
  store i64 0, ptr %".35"
  br label %"loop.2"
stay.1:
  %".25" = getelementptr i64, ptr %"dims", i64 %".22"
  %".26" = load i64, ptr %".25"
  %".27" = icmp eq i64 %".26", 0
  br i1 %".27", label %"stay.1.if", label %"stay.1.endif"
stay.1.if:
  ret i64 0
stay.1.endif:
  %".30" = add i64 %".22", 1
  store i64 %".30", ptr %".19"
  br label %"loop.1"
loop.2:
  %".38" = load i64, ptr %".35"
  %".39" = icmp sge i64 %".38", %"rank"
  br i1 %".39", label %"done.2", label %"stay.2"
done.2:
  %".54" = load i64, ptr %".33"
  ret i64 %".54"
stay.2:
  %".41" = getelementptr i64, ptr %"dims", i64 %".38"
  %".42" = load i64, ptr %".41"
  %".43" = load i64, ptr %".33"
  %".44" = sdiv i64 140737488355328, %".42"
  %".45" = icmp sgt i64 %".43", %".44"
  br i1 %".45", label %"stay.2.if", label %"stay.2.endif"
stay.2.if:
  ret i64 -1
stay.2.endif:
  %".48" = load i64, ptr %".33"
  %".49" = mul i64 %".48", %".42"
  store i64 %".49", ptr %".33"
  %".51" = add i64 %".38", 1
  store i64 %".51", ptr %".35"
  br label %"loop.2"
}

define internal i32 @"flowc_abi_fail_dims"(ptr %"name", ptr %"expected", ptr %"dims", i64 %"rank", i32 %"axis", i64 %"right", ptr %"hint") noinline nounwind optsize
{
entry:
  %".14" = alloca i64
  %".25" = alloca i64
  br label %"body"
body:
  %".10" = call ptr @"flowc_abi_message"()
  %".11" = icmp eq ptr %".10", null
  br i1 %".11", label %"body.if", label %"body.endif"
body.if:
  ret i32 2
body.endif:
  store i64 0, ptr %".14"
  %".16" = load i64, ptr %".14"
  %".17" = sub i64 1024, %".16"
  %".18" = getelementptr i8, ptr %".10", i64 %".16"
  %".19" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".18", i64 %".17", ptr @".text.45", ptr %"name")
  %".20" = sext i32 %".19" to i64
  %".21" = add i64 %".16", %".20"
  %".22" = icmp slt i64 %".21", 1023
  %".23" = select  i1 %".22", i64 %".21", i64 1023
  store i64 %".23", ptr %".14"
  store i64 0, ptr %".25"
  br label %"loop"
loop:
  %".28" = load i64, ptr %".25"
  %".29" = icmp sge i64 %".28", %"rank"
  br i1 %".29", label %"done", label %"stay"
done:
  %".47" = load i64, ptr %".14"
  %".48" = sub i64 1024, %".47"
  %".49" = getelementptr i8, ptr %".10", i64 %".47"
  %".50" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".49", i64 %".48", ptr @".text.48", ptr %"expected")
  %".51" = sext i32 %".50" to i64
  %".52" = add i64 %".47", %".51"
  %".53" = icmp slt i64 %".52", 1023
  %".54" = select  i1 %".53", i64 %".52", i64 1023
  store i64 %".54", ptr %".14"
  %".56" = icmp slt i32 %"axis", 0
  br i1 %".56", label %"done.if", label %"done.endif"
stay:
  %".31" = icmp eq i64 %".28", 0
  %".32" = select  i1 %".31", ptr @".text.1", ptr @".text.46"
  %".33" = getelementptr i64, ptr %"dims", i64 %".28"
  %".34" = load i64, ptr %".33"
  %".35" = load i64, ptr %".14"
  %".36" = sub i64 1024, %".35"
  %".37" = getelementptr i8, ptr %".10", i64 %".35"
  %".38" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".37", i64 %".36", ptr @".text.47", ptr %".32", i64 %".34")
  %".39" = sext i32 %".38" to i64
  %".40" = add i64 %".35", %".39"
  %".41" = icmp slt i64 %".40", 1023
  %".42" = select  i1 %".41", i64 %".40", i64 1023
  store i64 %".42", ptr %".14"
  %".44" = add i64 %".28", 1
  store i64 %".44", ptr %".25"
  br label %"loop"
done.if:
  %".58" = load i64, ptr %".14"
  %".59" = sub i64 1024, %".58"
  %".60" = getelementptr i8, ptr %".10", i64 %".58"
  %".61" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".60", i64 %".59", ptr @".text.49")
  %".62" = sext i32 %".61" to i64
  %".63" = add i64 %".58", %".62"
  %".64" = icmp slt i64 %".63", 1023
  %".65" = select  i1 %".64", i64 %".63", i64 1023
  store i64 %".65", ptr %".14"
  ret i32 2
done.endif:
  %".68" = sext i32 %"axis" to i64
  %".69" = getelementptr i64, ptr %"dims", i64 %".68"
  %".70" = load i64, ptr %".69"
  %".71" = load i64, ptr %".14"
  %".72" = sub i64 1024, %".71"
  %".73" = getelementptr i8, ptr %".10", i64 %".71"
  %".74" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".73", i64 %".72", ptr @".text.50", i32 %"axis", i64 %".70")
  %".75" = sext i32 %".74" to i64
  %".76" = add i64 %".71", %".75"
  %".77" = icmp slt i64 %".76", 1023
  %".78" = select  i1 %".77", i64 %".76", i64 1023
  store i64 %".78", ptr %".14"
  %".80" = icmp slt i64 %"right", 0
  br i1 %".80", label %"done.endif.if", label %"done.endif.endif"
done.endif.if:
  %".82" = load i64, ptr %".14"
  %".83" = sub i64 1024, %".82"
  %".84" = getelementptr i8, ptr %".10", i64 %".82"
  %".85" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".84", i64 %".83", ptr @".text.51")
  %".86" = sext i32 %".85" to i64
  %".87" = add i64 %".82", %".86"
  %".88" = icmp slt i64 %".87", 1023
  %".89" = select  i1 %".88", i64 %".87", i64 1023
  store i64 %".89", ptr %".14"
  ret i32 2
done.endif.endif:
  %".92" = load i64, ptr %".14"
  %".93" = sub i64 1024, %".92"
  %".94" = getelementptr i8, ptr %".10", i64 %".92"
  %".95" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".94", i64 %".93", ptr @".text.52", i64 %"right")
  %".96" = sext i32 %".95" to i64
  %".97" = add i64 %".92", %".96"
  %".98" = icmp slt i64 %".97", 1023
  %".99" = select  i1 %".98", i64 %".97", i64 1023
  store i64 %".99", ptr %".14"
  %".101" = icmp eq i64 %".70", 1
  %".102" = icmp eq i64 %"right", 1
  %".103" = or i1 %".101", %".102"
  %".104" = select  i1 %".103", ptr %"hint", ptr @".text.1"
  %".105" = load i64, ptr %".14"
  %".106" = sub i64 1024, %".105"
  %".107" = getelementptr i8, ptr %".10", i64 %".105"
  %".108" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".107", i64 %".106", ptr @".text.53", ptr %".104")
  %".109" = sext i32 %".108" to i64
  %".110" = add i64 %".105", %".109"
  %".111" = icmp slt i64 %".110", 1023
  %".112" = select  i1 %".111", i64 %".110", i64 1023
  store i64 %".112", ptr %".14"
  ret i32 2
}

@".text.45" = private unnamed_addr constant [22 x i8] c"input '%s' has dims [\00"
@".text.46" = private unnamed_addr constant [3 x i8] c", \00"
@".text.47" = private unnamed_addr constant [7 x i8] c"%s%lld\00"
@".text.48" = private unnamed_addr constant [15 x i8] c"], expected %s\00"
@".text.49" = private unnamed_addr constant [20 x i8] c": too many elements\00"
@".text.50" = private unnamed_addr constant [25 x i8] c": dimension %d is %lld, \00"
@".text.51" = private unnamed_addr constant [29 x i8] c"expected a size of 0 or more\00"
@".text.52" = private unnamed_addr constant [14 x i8] c"expected %lld\00"
@".text.53" = private unnamed_addr constant [3 x i8] c"%s\00"
define internal i32 @"flowc_abi_bind"(ptr %"input_dims", ptr %"sizes") noinline nounwind optsize
{
entry:
  %".5" = alloca ptr
  %".44" = alloca ptr
  br label %"body"
body:
  store ptr null, ptr %".5"
  %".7" = icmp ne ptr %"input_dims", null
  br i1 %".7", label %"body.if", label %"body.endif"
body.if:
  %".9" = getelementptr ptr, ptr %"input_dims", i64 0
  %".10" = load ptr, ptr %".9"
  store ptr %".10", ptr %".5"
  br label %"body.endif"
body.endif:
  %".13" = load ptr, ptr %".5"
  %".14" = load ptr, ptr %".5"
  %".15" = icmp eq ptr %".14", null
  br i1 %".15", label %"body.endif.if", label %"body.endif.endif"
body.endif.if:
  %".17" = call ptr @"flowc_abi_message"()
  %".18" = icmp ne ptr %".17", null
  br i1 %".18", label %"body.endif.if.if", label %"body.endif.if.endif"
body.endif.endif:
  %".23" = getelementptr i64, ptr %".13", i64 0
  %".24" = load i64, ptr %".23"
  %".25" = icmp slt i64 %".24", 0
  br i1 %".25", label %"body.endif.endif.if", label %"body.endif.endif.endif"
body.endif.if.if:
  %".20" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".17", i64 1024, ptr @".text.55", ptr @".text.14", ptr @".text.54")
  br label %"body.endif.if.endif"
body.endif.if.endif:
  ret i32 2
body.endif.endif.if:
  %".27" = call i32 @"flowc_abi_fail_dims"(ptr @".text.14", ptr @".text.54", ptr %".13", i64 2, i32 0, i64 -1, ptr @".text.56")
  ret i32 %".27"
body.endif.endif.endif:
  %".29" = getelementptr i64, ptr %"sizes", i64 0
  store i64 %".24", ptr %".29"
  %".31" = getelementptr i64, ptr %".13", i64 1
  %".32" = load i64, ptr %".31"
  %".33" = getelementptr i64, ptr %".13", i64 1
  %".34" = load i64, ptr %".33"
  %".35" = icmp ne i64 %".34", 4
  br i1 %".35", label %"body.endif.endif.endif.if", label %"body.endif.endif.endif.endif"
body.endif.endif.endif.if:
  %".37" = call i32 @"flowc_abi_fail_dims"(ptr @".text.14", ptr @".text.54", ptr %".13", i64 2, i32 1, i64 4, ptr @".text.1")
  ret i32 %".37"
body.endif.endif.endif.endif:
  %".39" = call i64 @"flowc_abi_count"(ptr %".13", i64 2)
  %".40" = icmp slt i64 %".39", 0
  br i1 %".40", label %"body.endif.endif.endif.endif.if", label %"body.endif.endif.endif.endif.endif"
body.endif.endif.endif.endif.if:
  %".42" = call i32 @"flowc_abi_fail_dims"(ptr @".text.14", ptr @".text.54", ptr %".13", i64 2, i32 -1, i64 0, ptr @".text.1")
  ret i32 %".42"
body.endif.endif.endif.endif.endif:
  store ptr null, ptr %".44"
  %".46" = icmp ne ptr %"input_dims", null
  br i1 %".46", label %"body.endif.endif.endif.endif.endif.if", label %"body.endif.endif.endif.endif.endif.endif"
body.endif.endif.endif.endif.endif.if:
  %".48" = getelementptr ptr, ptr %"input_dims", i64 1
  %".49" = load ptr, ptr %".48"
  store ptr %".49", ptr %".44"
  br label %"body.endif.endif.endif.endif.endif.endif"
body.endif.endif.endif.endif.endif.endif:
  %".52" = load ptr, ptr %".44"
  %".53" = load ptr, ptr %".44"
  %".54" = icmp eq ptr %".53", null
  %".55" = select  i1 %".54", ptr @".dims.20", ptr %".52"
  %".56" = call i64 @"flowc_abi_count"(ptr %".55", i64 0)
  %".57" = icmp slt i64 %".56", 0
  br i1 %".57", label %"body.endif.endif.endif.endif.endif.endif.if", label %"body.endif.endif.endif.endif.endif.endif.endif"
body.endif.endif.endif.endif.endif.endif.if:
  %".59" = call i32 @"flowc_abi_fail_dims"(ptr @".text.15", ptr @".text.57", ptr %".55", i64 0, i32 -1, i64 0, ptr @".text.1")
  ret i32 %".59"
body.endif.endif.endif.endif.endif.endif.endif:
  ret i32 0
}

@".text.54" = private unnamed_addr constant [11 x i8] c"[batch, 4]\00"
@".text.55" = private unnamed_addr constant [60 x i8] c"input '%s' of dims %s needs its dims: input_dims gives none\00"
@".text.56" = private unnamed_addr constant [109 x i8] c"; where a size of 1 is meant to be broadcast, compile with it (--feed 'NAME=[1,...]') or use tf.broadcast_to\00"
@".text.57" = private unnamed_addr constant [3 x i8] c"[]\00"
@"flowc_abi_threads" = internal global i32 0
@"flowc_abi_max_memory" = internal global i64 0
define i32 @"flowc_get_threads"() noinline nounwind optsize
{
entry:
  %".7" = alloca [128 x i8], align 8
  %".8" = alloca i64
  %".20" = alloca i64
  %".22" = alloca i64
  br label %"body"
body:
  %".3" = load atomic i32, i32* @"flowc_abi_threads" monotonic, align 4
  %".4" = icmp sgt i32 %".3", 0
  br i1 %".4", label %"body.if", label %"body.endif"
body.if:
  ret i32 %".3"
body.endif:
  store i64 0, ptr %".8"
  br label %"loop"
loop:
  %".11" = load i64, ptr %".8"
  %".12" = icmp sge i64 %".11", 16
  br i1 %".12", label %"done", label %"stay"
done:
  %".19" = call i32 @"sched_getaffinity"(i32 0, i64 128, ptr %".7")
  store i64 0, ptr %".20"
  store i64 0, ptr %".22"
  br label %"loop.1"
stay:
  %".14" = getelementptr i64, ptr %".7", i64 %".11"
  store i64 0, ptr %".14"
  %".16" = add i64 %".11", 1
  store i64 %".16", ptr %".8"
  br label %"loop"
loop.1:
  %".25" = load i64, ptr %".22"
  %".26" = icmp sge i64 %".25", 16
  br i1 %".26", label %"done.1", label %"stay.1"
done.1:
  %".37" = load i64, ptr %".20"
  %".38" = icmp sgt i64 %".37", 1
  %".39" = select  i1 %".38", i64 %".37", i64 1
  %".40" = trunc i64 %".39" to i32
  %".41" = cmpxchg i32* @"flowc_abi_threads", i32 0, i32 %".40" acq_rel acquire
  %".42" = extractvalue {i32, i1} %".41", 1
  ret i32 %".40"
stay.1:
  %".28" = load i64, ptr %".20"
  %".29" = getelementptr i64, ptr %".7", i64 %".25"
  %".30" = load i64, ptr %".29"
  %".31" = call i64 @"llvm.ctpop.i64"(i64 %".30")
  %".32" = add i64 %".28", %".31"
  store i64 %".32", ptr %".20"
  %".34" = add i64 %".25", 1
  store i64 %".34", ptr %".22"
  br label %"loop.1"
}

declare i32 @"sched_getaffinity"(i32 %".1", i64 %".2", ptr %".3")

declare i64 @"llvm.ctpop.i64"(i64 %".1")

define i32 @"flowc_set_threads"(i32 %"threads") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".4" = icmp ugt i32 %"threads", 1024
  br i1 %".4", label %"body.if", label %"body.endif"
body.if:
  %".6" = call ptr @"flowc_abi_message"()
  %".7" = icmp ne ptr %".6", null
  br i1 %".7", label %"body.if.if", label %"body.if.endif"
body.endif:
  store atomic i32 %"threads", i32* @"flowc_abi_threads" release, align 4
  ret i32 0
body.if.if:
  %".9" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".6", i64 1024, ptr @".text.58", i32 %"threads")
  br label %"body.if.endif"
body.if.endif:
  ret i32 2
}

@".text.58" = private unnamed_addr constant [59 x i8] c"thread count %d: expected 1 to 1024, or 0 for one per core\00"
define i64 @"flowc_get_max_memory"() noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".3" = load atomic i64, i64* @"flowc_abi_max_memory" monotonic, align 8
  ret i64 %".3"
}

define i32 @"flowc_set_max_memory"(i64 %"bytes") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".4" = icmp slt i64 %"bytes", 0
  br i1 %".4", label %"body.if", label %"body.endif"
body.if:
  %".6" = call ptr @"flowc_abi_message"()
  %".7" = icmp ne ptr %".6", null
  br i1 %".7", label %"body.if.if", label %"body.if.endif"
body.endif:
  store atomic i64 %"bytes", i64* @"flowc_abi_max_memory" release, align 8
  ret i32 0
body.if.if:
  %".9" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".6", i64 1024, ptr @".text.59", i64 %"bytes")
  br label %"body.if.endif"
body.if.endif:
  ret i32 2
}

@".text.59" = private unnamed_addr constant [60 x i8] c"%lld bytes of memory: expected 1 or more, or 0 for no limit\00"
define i32 @"flowc_check_weights"() noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".3" = load ptr, ptr @"flowc_weights_address"
  %".4" = icmp eq ptr %".3", null
  br i1 %".4", label %"body.if", label %"body.endif"
body.if:
  %".6" = load ptr, ptr @"flowc_weights_reason"
  %".7" = call ptr @"flowc_abi_message"()
  %".8" = icmp ne ptr %".7", null
  br i1 %".8", label %"body.if.if", label %"body.if.endif"
body.endif:
  ret i32 0
body.if.if:
  %".10" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".7", i64 1024, ptr @".text.60", ptr @"flowc_weights_path", ptr %".6")
  br label %"body.if.endif"
body.if.endif:
  ret i32 4
}

@".text.60" = private unnamed_addr constant [23 x i8] c"the weights file %s %s\00"
define i32 @"flowc_output_dims_for"(ptr %"input_dims", i32 %"output", ptr %"dims") noinline nounwind optsize
{
entry:
  %".25" = alloca [24 x i8], align 8
  %".32" = alloca [32 x i8], align 8
  %".57" = alloca i64
  br label %"body"
body:
  %".6" = call i32 @"flowc_output_rank"(i32 %"output")
  %".7" = icmp slt i32 %".6", 0
  br i1 %".7", label %"body.if", label %"body.endif"
body.if:
  %".9" = call ptr @"flowc_abi_message"()
  %".10" = icmp ne ptr %".9", null
  br i1 %".10", label %"body.if.if", label %"body.if.endif"
body.endif:
  %".15" = icmp eq ptr %"dims", null
  %".16" = icmp ne i32 %".6", 0
  %".17" = and i1 %".15", %".16"
  br i1 %".17", label %"body.endif.if", label %"body.endif.endif"
body.if.if:
  %".12" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".9", i64 1024, ptr @".text.31", i32 %"output")
  br label %"body.if.endif"
body.if.endif:
  ret i32 2
body.endif.if:
  %".19" = call ptr @"flowc_abi_message"()
  %".20" = icmp ne ptr %".19", null
  br i1 %".20", label %"body.endif.if.if", label %"body.endif.if.endif"
body.endif.endif:
  %".26" = getelementptr i64, ptr %".25", i64 0
  store i64 0, ptr %".26"
  %".28" = getelementptr i64, ptr %".25", i64 1
  store i64 0, ptr %".28"
  %".30" = getelementptr i64, ptr %".25", i64 2
  store i64 0, ptr %".30"
  %".33" = call i32 @"flowc_abi_bind"(ptr %"input_dims", ptr %".25")
  %".34" = icmp ne i32 %".33", 0
  br i1 %".34", label %"body.endif.endif.if", label %"body.endif.endif.endif"
body.endif.if.if:
  %".22" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".19", i64 1024, ptr @".text.22")
  br label %"body.endif.if.endif"
body.endif.if.endif:
  ret i32 2
body.endif.endif.if:
  ret i32 %".33"
body.endif.endif.endif:
  call void @"flowc_program_output_bounds"(ptr %".25", ptr %".32")
  %".38" = sext i32 %"output" to i64
  %".39" = getelementptr i64, ptr @".starts.61", i64 %".38"
  %".40" = load i64, ptr %".39"
  %".41" = getelementptr i64, ptr %".32", i64 %".40"
  %".42" = sext i32 %".6" to i64
  %".43" = call i64 @"flowc_abi_count"(ptr %".41", i64 %".42")
  %".44" = icmp eq i64 %".43", -1
  br i1 %".44", label %"body.endif.endif.endif.if", label %"body.endif.endif.endif.endif"
body.endif.endif.endif.if:
  %".46" = call ptr @"flowc_abi_message"()
  %".47" = icmp ne ptr %".46", null
  br i1 %".47", label %"body.endif.endif.endif.if.if", label %"body.endif.endif.endif.if.endif"
body.endif.endif.endif.endif:
  %".52" = sext i32 %"output" to i64
  %".53" = getelementptr i64, ptr @".starts.61", i64 %".52"
  %".54" = load i64, ptr %".53"
  %".55" = call i32 @"flowc_output_rank"(i32 %"output")
  %".56" = sext i32 %".55" to i64
  store i64 0, ptr %".57"
  br label %"loop"
body.endif.endif.endif.if.if:
  %".49" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".46", i64 1024, ptr @".text.62", i32 %"output")
  br label %"body.endif.endif.endif.if.endif"
body.endif.endif.endif.if.endif:
  ret i32 5
loop:
  %".60" = load i64, ptr %".57"
  %".61" = icmp sge i64 %".60", %".56"
  br i1 %".61", label %"done", label %"stay"
done:
  ret i32 0
stay:
  %".63" = add i64 %".54", %".60"
  %".64" = getelementptr i64, ptr %".32", i64 %".63"
  %".65" = load i64, ptr %".64"
  %".66" = getelementptr i64, ptr %"dims", i64 %".60"
  store i64 %".65", ptr %".66"
  %".68" = add i64 %".60", 1
  store i64 %".68", ptr %".57"
  br label %"loop"
}

declare void @"flowc_program_output_bounds"(ptr %".1", ptr %".2")

@".starts.61" = private unnamed_addr constant [3 x i64] [i64 0, i64 2, i64 3]
@".text.62" = private unnamed_addr constant [57 x i8] c"output %d would have more elements than any memory holds\00"
define internal i32 @"flowc_abi_check"(ptr %"kind", ptr %"name", ptr %"address", i64 %"count", i64 %"align") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".8" = icmp eq i64 %"count", -1
  br i1 %".8", label %"body.if", label %"body.endif"
body.if:
  %".10" = call ptr @"flowc_abi_message"()
  %".11" = icmp ne ptr %".10", null
  br i1 %".11", label %"body.if.if", label %"body.if.endif"
body.endif:
  %".16" = ptrtoint ptr %"address" to i64
  %".17" = icmp eq i64 %".16", 0
  %".18" = icmp eq i64 %"count", -2
  br i1 %".18", label %"body.endif.if", label %"body.endif.endif"
body.if.if:
  %".13" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".10", i64 1024, ptr @".text.63", ptr %"kind", ptr %"name")
  br label %"body.if.endif"
body.if.endif:
  ret i32 5
body.endif.if:
  br i1 %".17", label %"body.endif.if.if", label %"body.endif.if.endif"
body.endif.endif:
  %".28" = icmp ne i64 %"count", 0
  %".29" = and i1 %".17", %".28"
  br i1 %".29", label %"body.endif.endif.if", label %"body.endif.endif.endif"
body.endif.if.if:
  ret i32 0
body.endif.if.endif:
  %".22" = call ptr @"flowc_abi_message"()
  %".23" = icmp ne ptr %".22", null
  br i1 %".23", label %"body.endif.if.endif.if", label %"body.endif.if.endif.endif"
body.endif.if.endif.if:
  %".25" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".22", i64 1024, ptr @".text.64", ptr %"kind", ptr %"name")
  br label %"body.endif.if.endif.endif"
body.endif.if.endif.endif:
  ret i32 2
body.endif.endif.if:
  %".31" = call ptr @"flowc_abi_message"()
  %".32" = icmp ne ptr %".31", null
  br i1 %".32", label %"body.endif.endif.if.if", label %"body.endif.endif.if.endif"
body.endif.endif.endif:
  %".37" = sub i64 %"align", 1
  %".38" = and i64 %".16", %".37"
  %".39" = icmp ne i64 %".38", 0
  br i1 %".39", label %"body.endif.endif.endif.if", label %"body.endif.endif.endif.endif"
body.endif.endif.if.if:
  %".34" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".31", i64 1024, ptr @".text.65", ptr %"kind", ptr %"name")
  br label %"body.endif.endif.if.endif"
body.endif.endif.if.endif:
  ret i32 2
body.endif.endif.endif.if:
  %".41" = call ptr @"flowc_abi_message"()
  %".42" = icmp ne ptr %".41", null
  br i1 %".42", label %"body.endif.endif.endif.if.if", label %"body.endif.endif.endif.if.endif"
body.endif.endif.endif.endif:
  ret i32 0
body.endif.endif.endif.if.if:
  %".44" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".41", i64 1024, ptr @".text.66", ptr %"kind", ptr %"name", i64 %"align")
  br label %"body.endif.endif.endif.if.endif"
body.endif.endif.endif.if.endif:
  ret i32 2
}

@".text.63" = private unnamed_addr constant [55 x i8] c"%s '%s' would have more elements than any memory holds\00"
@".text.64" = private unnamed_addr constant [70 x i8] c"%s '%s' has no bound on its size: pass NULL, and the run allocates it\00"
@".text.65" = private unnamed_addr constant [16 x i8] c"%s '%s' is NULL\00"
@".text.66" = private unnamed_addr constant [62 x i8] c"%s '%s' is at an address that is not a multiple of %lld bytes\00"
define internal i32 @"flowc_abi_fail_run"(ptr %"status") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".4" = getelementptr i64, ptr %"status", i64 1
  %".5" = load i64, ptr %".4"
  %".6" = icmp ult i64 %".5", 2
  %".7" = xor i1 %".6", -1
  br i1 %".7", label %"body.if", label %"body.endif"
body.if:
  %".9" = call ptr @"flowc_abi_message"()
  %".10" = icmp ne ptr %".9", null
  br i1 %".10", label %"body.if.if", label %"body.if.endif"
body.endif:
  %".15" = getelementptr i64, ptr %"status", i64 2
  %".16" = load i64, ptr %".15"
  %".17" = getelementptr i64, ptr %"status", i64 3
  %".18" = load i64, ptr %".17"
  %".19" = getelementptr i64, ptr %"status", i64 4
  %".20" = load i64, ptr %".19"
  switch i64 %".5", label %"unknown" [i64 0, label %"error0" i64 1, label %"error1"]
body.if.if:
  %".12" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".9", i64 1024, ptr @".text.67", i64 %".5")
  br label %"body.if.endif"
body.if.endif:
  ret i32 3
unknown:
  unreachable
error0:
  %".22" = call ptr @"flowc_abi_message"()
  %".23" = icmp ne ptr %".22", null
  br i1 %".23", label %"error0.if", label %"error0.endif"
error0.if:
  %".25" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".22", i64 1024, ptr @".text.68", i64 %".16", i64 %".18")
  br label %"error0.endif"
error0.endif:
  ret i32 3
error1:
  %".28" = call ptr @"flowc_abi_message"()
  %".29" = icmp ne ptr %".28", null
  br i1 %".29", label %"error1.if", label %"error1.endif"
error1.if:
  %".31" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".28", i64 1024, ptr @".text.69", i64 %".16")
  br label %"error1.endif"
error1.endif:
  ret i32 5
}

@".text.67" = private unnamed_addr constant [42 x i8] c"the run ended with the unknown error %lld\00"
@".text.68" = private unnamed_addr constant [48 x i8] c"k = %lld is not in [%lld, 100%%) (node 'top/K')\00"
@".text.69" = private unnamed_addr constant [36 x i8] c"%lld bytes asked for (node 'top/K')\00"
define internal i32 @"flowc_abi_run"(ptr %"instance", ptr %"inputs", ptr %"input_dims", ptr %"outputs", ptr %"output_dims") noinline nounwind optsize
{
entry:
  %".34" = alloca [24 x i8], align 8
  %".41" = alloca [32 x i8], align 8
  %".87" = alloca [64 x i8], align 8
  %".151" = alloca i64
  %".175" = alloca i64
  %".199" = alloca i64
  br label %"body"
body:
  %".8" = load ptr, ptr @"flowc_weights_address"
  %".9" = icmp eq ptr %".8", null
  br i1 %".9", label %"body.if", label %"body.endif"
body.if:
  %".11" = load ptr, ptr @"flowc_weights_reason"
  %".12" = call ptr @"flowc_abi_message"()
  %".13" = icmp ne ptr %".12", null
  br i1 %".13", label %"body.if.if", label %"body.if.endif"
body.endif:
  %".18" = icmp eq ptr %"inputs", null
  br i1 %".18", label %"body.endif.if", label %"body.endif.endif"
body.if.if:
  %".15" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".12", i64 1024, ptr @".text.60", ptr @"flowc_weights_path", ptr %".11")
  br label %"body.if.endif"
body.if.endif:
  ret i32 4
body.endif.if:
  %".20" = call ptr @"flowc_abi_message"()
  %".21" = icmp ne ptr %".20", null
  br i1 %".21", label %"body.endif.if.if", label %"body.endif.if.endif"
body.endif.endif:
  %".26" = icmp eq ptr %"outputs", null
  br i1 %".26", label %"body.endif.endif.if", label %"body.endif.endif.endif"
body.endif.if.if:
  %".23" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".20", i64 1024, ptr @".text.70")
  br label %"body.endif.if.endif"
body.endif.if.endif:
  ret i32 2
body.endif.endif.if:
  %".28" = call ptr @"flowc_abi_message"()
  %".29" = icmp ne ptr %".28", null
  br i1 %".29", label %"body.endif.endif.if.if", label %"body.endif.endif.if.endif"
body.endif.endif.endif:
  %".35" = getelementptr i64, ptr %".34", i64 0
  store i64 0, ptr %".35"
  %".37" = getelementptr i64, ptr %".34", i64 1
  store i64 0, ptr %".37"
  %".39" = getelementptr i64, ptr %".34", i64 2
  store i64 0, ptr %".39"
  %".42" = call i32 @"flowc_abi_bind"(ptr %"input_dims", ptr %".34")
  %".43" = icmp ne i32 %".42", 0
  br i1 %".43", label %"body.endif.endif.endif.if", label %"body.endif.endif.endif.endif"
body.endif.endif.if.if:
  %".31" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".28", i64 1024, ptr @".text.71")
  br label %"body.endif.endif.if.endif"
body.endif.endif.if.endif:
  ret i32 2
body.endif.endif.endif.if:
  ret i32 %".42"
body.endif.endif.endif.endif:
  %".46" = getelementptr ptr, ptr %"input_dims", i64 0
  %".47" = load ptr, ptr %".46"
  %".48" = call i64 @"flowc_abi_count"(ptr %".47", i64 2)
  %".49" = getelementptr ptr, ptr %"inputs", i64 0
  %".50" = load ptr, ptr %".49"
  %".51" = call i32 @"flowc_abi_check"(ptr @".text.72", ptr @".text.14", ptr %".50", i64 %".48", i64 4)
  %".52" = icmp ne i32 %".51", 0
  br i1 %".52", label %"body.endif.endif.endif.endif.if", label %"body.endif.endif.endif.endif.endif"
body.endif.endif.endif.endif.if:
  ret i32 %".51"
body.endif.endif.endif.endif.endif:
  %".55" = call i64 @"flowc_abi_count"(ptr @".dims.20", i64 0)
  %".56" = getelementptr ptr, ptr %"inputs", i64 1
  %".57" = load ptr, ptr %".56"
  %".58" = call i32 @"flowc_abi_check"(ptr @".text.72", ptr @".text.15", ptr %".57", i64 %".55", i64 8)
  %".59" = icmp ne i32 %".58", 0
  br i1 %".59", label %"body.endif.endif.endif.endif.endif.if", label %"body.endif.endif.endif.endif.endif.endif"
body.endif.endif.endif.endif.endif.if:
  ret i32 %".58"
body.endif.endif.endif.endif.endif.endif:
  call void @"flowc_program_output_bounds"(ptr %".34", ptr %".41")
  %".63" = getelementptr i64, ptr %".41", i64 0
  %".64" = call i64 @"flowc_abi_count"(ptr %".63", i64 2)
  %".65" = getelementptr ptr, ptr %"outputs", i64 0
  %".66" = load ptr, ptr %".65"
  %".67" = call i32 @"flowc_abi_check"(ptr @".text.73", ptr @".text.24", ptr %".66", i64 %".64", i64 4)
  %".68" = icmp ne i32 %".67", 0
  br i1 %".68", label %"body.endif.endif.endif.endif.endif.endif.if", label %"body.endif.endif.endif.endif.endif.endif.endif"
body.endif.endif.endif.endif.endif.endif.if:
  ret i32 %".67"
body.endif.endif.endif.endif.endif.endif.endif:
  %".71" = getelementptr i64, ptr %".41", i64 2
  %".72" = call i64 @"flowc_abi_count"(ptr %".71", i64 1)
  %".73" = getelementptr ptr, ptr %"outputs", i64 1
  %".74" = load ptr, ptr %".73"
  %".75" = call i32 @"flowc_abi_check"(ptr @".text.73", ptr @".text.25", ptr %".74", i64 %".72", i64 4)
  %".76" = icmp ne i32 %".75", 0
  br i1 %".76", label %"body.endif.endif.endif.endif.endif.endif.endif.if", label %"body.endif.endif.endif.endif.endif.endif.endif.endif"
body.endif.endif.endif.endif.endif.endif.endif.if:
  ret i32 %".75"
body.endif.endif.endif.endif.endif.endif.endif.endif:
  %".79" = getelementptr i64, ptr %".41", i64 3
  %".80" = call i64 @"flowc_abi_count"(ptr %".79", i64 1)
  %".81" = getelementptr ptr, ptr %"outputs", i64 2
  %".82" = load ptr, ptr %".81"
  %".83" = call i32 @"flowc_abi_check"(ptr @".text.73", ptr @".text.26", ptr %".82", i64 %".80", i64 8)
  %".84" = icmp ne i32 %".83", 0
  br i1 %".84", label %"body.endif.endif.endif.en...if", label %"body.endif.endif.endif.en...endif"
body.endif.endif.endif.en...if:
  ret i32 %".83"
body.endif.endif.endif.en...endif:
  %".88" = getelementptr i64, ptr %".87", i64 0
  store i64 0, ptr %".88"
  %".90" = getelementptr i64, ptr %".87", i64 1
  store i64 0, ptr %".90"
  %".92" = getelementptr i64, ptr %".87", i64 2
  store i64 0, ptr %".92"
  %".94" = getelementptr i64, ptr %".87", i64 3
  store i64 0, ptr %".94"
  %".96" = getelementptr i64, ptr %".87", i64 4
  store i64 0, ptr %".96"
  %".98" = getelementptr i64, ptr %".87", i64 5
  store i64 0, ptr %".98"
  %".100" = getelementptr i64, ptr %".87", i64 6
  store i64 0, ptr %".100"
  %".102" = getelementptr i64, ptr %".87", i64 7
  store i64 0, ptr %".102"
  %".104" = call i64 @"flowc_get_max_memory"()
  %".105" = getelementptr i64, ptr %".87", i64 1
  store i64 %".104", ptr %".105"
  %".107" = call i32 @"flowc_get_threads"()
  %".108" = sext i32 %".107" to i64
  %".109" = call i32 @"flowc_program_run"(ptr %"inputs", ptr %"outputs", ptr %".34", ptr %".8", i64 %".108", ptr %".87", ptr null)
  %".110" = icmp ne i32 %".109", 0
  br i1 %".110", label %"body.endif.endif.endif.en...endif.if", label %"body.endif.endif.endif.en...endif.endif"
body.endif.endif.endif.en...endif.if:
  %".112" = icmp eq i64 %".64", -2
  br i1 %".112", label %"body.endif.endif.endif.en...endif.if.if", label %"body.endif.endif.endif.en...endif.if.endif"
body.endif.endif.endif.en...endif.endif:
  %".138" = icmp eq ptr %"output_dims", null
  br i1 %".138", label %"body.endif.endif.endif.en...endif.endif.if", label %"body.endif.endif.endif.en...endif.endif.endif"
body.endif.endif.endif.en...endif.if.if:
  %".114" = getelementptr ptr, ptr %"outputs", i64 0
  %".115" = load ptr, ptr %".114"
  call void @"free"(ptr %".115")
  %".117" = getelementptr ptr, ptr %"outputs", i64 0
  store ptr null, ptr %".117"
  br label %"body.endif.endif.endif.en...endif.if.endif"
body.endif.endif.endif.en...endif.if.endif:
  %".120" = icmp eq i64 %".72", -2
  br i1 %".120", label %"body.endif.endif.endif.en...endif.if.endif.if", label %"body.endif.endif.endif.en...endif.if.endif.endif"
body.endif.endif.endif.en...endif.if.endif.if:
  %".122" = getelementptr ptr, ptr %"outputs", i64 1
  %".123" = load ptr, ptr %".122"
  call void @"free"(ptr %".123")
  %".125" = getelementptr ptr, ptr %"outputs", i64 1
  store ptr null, ptr %".125"
  br label %"body.endif.endif.endif.en...endif.if.endif.endif"
body.endif.endif.endif.en...endif.if.endif.endif:
  %".128" = icmp eq i64 %".80", -2
  br i1 %".128", label %"body.endif.endif.endif.en...endif.if.endif.endif.if", label %"body.endif.endif.endif.en...endif.if.endif.endif.endif"
body.endif.endif.endif.en...endif.if.endif.endif.if:
  %".130" = getelementptr ptr, ptr %"outputs", i64 2
  %".131" = load ptr, ptr %".130"
  call void @"free"(ptr %".131")
  %".133" = getelementptr ptr, ptr %"outputs", i64 2
  store ptr null, ptr %".133"
  br label %"body.endif.endif.endif.en...endif.if.endif.endif.endif"
body.endif.endif.endif.en...endif.if.endif.endif.endif:
  %".136" = call i32 @"flowc_abi_fail_run"(ptr %".87")
  ret i32 %".136"
body.endif.endif.endif.en...endif.endif.if:
  ret i32 0
body.endif.endif.endif.en...endif.endif.endif:
  call void @"flowc_program_output_dims"(ptr %".34", ptr %".41")
  %".142" = getelementptr ptr, ptr %"output_dims", i64 0
  %".143" = load ptr, ptr %".142"
  %".144" = icmp ne ptr %".143", null
  br i1 %".144", label %"body.endif.endif.endif.en...endif.endif.endif.if", label %"body.endif.endif.endif.en...endif.endif.endif.endif"
body.endif.endif.endif.en...endif.endif.endif.if:
  %".146" = sext i32 0 to i64
  %".147" = getelementptr i64, ptr @".starts.61", i64 %".146"
  %".148" = load i64, ptr %".147"
  %".149" = call i32 @"flowc_output_rank"(i32 0)
  %".150" = sext i32 %".149" to i64
  store i64 0, ptr %".151"
  br label %"loop"
body.endif.endif.endif.en...endif.endif.endif.endif:
  %".166" = getelementptr ptr, ptr %"output_dims", i64 1
  %".167" = load ptr, ptr %".166"
  %".168" = icmp ne ptr %".167", null
  br i1 %".168", label %"body.endif.endif.endif.en...if.1", label %"body.endif.endif.endif.en...endif.1"
loop:
  %".154" = load i64, ptr %".151"
  %".155" = icmp sge i64 %".154", %".150"
  br i1 %".155", label %"done", label %"stay"
done:
  br label %"body.endif.endif.endif.en...endif.endif.endif.endif"
stay:
  %".157" = add i64 %".148", %".154"
  %".158" = getelementptr i64, ptr %".41", i64 %".157"
  %".159" = load i64, ptr %".158"
  %".160" = getelementptr i64, ptr %".143", i64 %".154"
  store i64 %".159", ptr %".160"
  %".162" = add i64 %".154", 1
  store i64 %".162", ptr %".151"
  br label %"loop"
body.endif.endif.endif.en...if.1:
  %".170" = sext i32 1 to i64
  %".171" = getelementptr i64, ptr @".starts.61", i64 %".170"
  %".172" = load i64, ptr %".171"
  %".173" = call i32 @"flowc_output_rank"(i32 1)
  %".174" = sext i32 %".173" to i64
  store i64 0, ptr %".175"
  br label %"loop.1"
body.endif.endif.endif.en...endif.1:
  %".190" = getelementptr ptr, ptr %"output_dims", i64 2
  %".191" = load ptr, ptr %".190"
  %".192" = icmp ne ptr %".191", null
  br i1 %".192", label %"body.endif.endif.endif.en...endif.1.if", label %"body.endif.endif.endif.en...endif.1.endif"
loop.1:
  %".178" = load i64, ptr %".175"
  %".179" = icmp sge i64 %".178", %".174"
  br i1 %".179", label %"done.1", label %"stay.1"
done.1:
  br label %"body.endif.endif.endif.en...endif.1"
stay.1:
  %".181" = add i64 %".172", %".178"
  %".182" = getelementptr i64, ptr %".41", i64 %".181"
  %".183" = load i64, ptr %".182"
  %".184" = getelementptr i64, ptr %".167", i64 %".178"
  store i64 %".183", ptr %".184"
  %".186" = add i64 %".178", 1
  store i64 %".186", ptr %".175"
  br label %"loop.1"
body.endif.endif.endif.en...endif.1.if:
  %".194" = sext i32 2 to i64
  %".195" = getelementptr i64, ptr @".starts.61", i64 %".194"
  %".196" = load i64, ptr %".195"
  %".197" = call i32 @"flowc_output_rank"(i32 2)
  %".198" = sext i32 %".197" to i64
  store i64 0, ptr %".199"
  br label %"loop.2"
body.endif.endif.endif.en...endif.1.endif:
  ret i32 0
loop.2:
  %".202" = load i64, ptr %".199"
  %".203" = icmp sge i64 %".202", %".198"
  br i1 %".203", label %"done.2", label %"stay.2"
done.2:
  br label %"body.endif.endif.endif.en...endif.1.endif"
stay.2:
  %".205" = add i64 %".196", %".202"
  %".206" = getelementptr i64, ptr %".41", i64 %".205"
  %".207" = load i64, ptr %".206"
  %".208" = getelementptr i64, ptr %".191", i64 %".202"
  store i64 %".207", ptr %".208"
  %".210" = add i64 %".202", 1
  store i64 %".210", ptr %".199"
  br label %"loop.2"
}

@".text.70" = private unnamed_addr constant [15 x i8] c"inputs is NULL\00"
@".text.71" = private unnamed_addr constant [16 x i8] c"outputs is NULL\00"
@".text.72" = private unnamed_addr constant [6 x i8] c"input\00"
@".text.73" = private unnamed_addr constant [7 x i8] c"output\00"
declare i32 @"flowc_program_run"(ptr %".1", ptr %".2", ptr %".3", ptr %".4", i64 %".5", ptr %".6", ptr %".7")

declare void @"flowc_program_output_dims"(ptr %".1", ptr %".2")

define i32 @"flowc_object_count"() noinline nounwind optsize
{
entry:
  br label %"body"
body:
  ret i32 0
}

define ptr @"flowc_object_name"(i32 %"object") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  ret ptr null
}

define internal i32 @"flowc_abi_save"(ptr %"instance", i32 %"object", ptr %"bytes", i64 %"size", ptr %"needed") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".8" = icmp eq ptr %"needed", null
  br i1 %".8", label %"body.if", label %"body.endif"
body.if:
  %".10" = call ptr @"flowc_abi_message"()
  %".11" = icmp ne ptr %".10", null
  br i1 %".11", label %"body.if.if", label %"body.if.endif"
body.endif:
  %".16" = getelementptr i64, ptr %"instance", i64 8
  %".17" = getelementptr i64, ptr %".16", i64 0
  %".18" = call ptr @"flowc_abi_message"()
  %".19" = icmp ne ptr %".18", null
  br i1 %".19", label %"body.endif.if", label %"body.endif.endif"
body.if.if:
  %".13" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".10", i64 1024, ptr @".text.74")
  br label %"body.if.endif"
body.if.endif:
  ret i32 2
body.endif.if:
  %".21" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".18", i64 1024, ptr @".text.75", i32 %"object")
  br label %"body.endif.endif"
body.endif.endif:
  ret i32 2
}

@".text.74" = private unnamed_addr constant [15 x i8] c"needed is NULL\00"
@".text.75" = private unnamed_addr constant [50 x i8] c"the model has no object %d, or none that is saved\00"
define internal i32 @"flowc_abi_restore"(ptr %"instance", i32 %"object", ptr %"bytes", i64 %"size") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".7" = icmp eq ptr %"bytes", null
  %".8" = icmp ne i64 %"size", 0
  %".9" = and i1 %".7", %".8"
  br i1 %".9", label %"body.if", label %"body.endif"
body.if:
  %".11" = call ptr @"flowc_abi_message"()
  %".12" = icmp ne ptr %".11", null
  br i1 %".12", label %"body.if.if", label %"body.if.endif"
body.endif:
  %".17" = getelementptr i64, ptr %"instance", i64 8
  %".18" = getelementptr i64, ptr %".17", i64 0
  %".19" = call ptr @"flowc_abi_message"()
  %".20" = icmp ne ptr %".19", null
  br i1 %".20", label %"body.endif.if", label %"body.endif.endif"
body.if.if:
  %".14" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".11", i64 1024, ptr @".text.76")
  br label %"body.if.endif"
body.if.endif:
  ret i32 2
body.endif.if:
  %".22" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".19", i64 1024, ptr @".text.75", i32 %"object")
  br label %"body.endif.endif"
body.endif.endif:
  ret i32 2
}

@".text.76" = private unnamed_addr constant [14 x i8] c"bytes is NULL\00"
define internal i32 @"flowc_abi_reset"(ptr %"instance") noinline nounwind optsize
{
entry:
  %".17" = alloca i64
  br label %"body"
body:
  %".4" = load ptr, ptr @"flowc_weights_address"
  %".5" = icmp eq ptr %".4", null
  br i1 %".5", label %"body.if", label %"body.endif"
body.if:
  %".7" = load ptr, ptr @"flowc_weights_reason"
  %".8" = call ptr @"flowc_abi_message"()
  %".9" = icmp ne ptr %".8", null
  br i1 %".9", label %"body.if.if", label %"body.if.endif"
body.endif:
  %".14" = getelementptr i64, ptr %"instance", i64 8
  %".15" = getelementptr i64, ptr %".14", i64 0
  %".16" = getelementptr i64, ptr %"instance", i64 8
  store i64 0, ptr %".17"
  br label %"loop"
body.if.if:
  %".11" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".8", i64 1024, ptr @".text.60", ptr @"flowc_weights_path", ptr %".7")
  br label %"body.if.endif"
body.if.endif:
  ret i32 4
loop:
  %".20" = load i64, ptr %".17"
  %".21" = icmp sge i64 %".20", 0
  br i1 %".21", label %"done", label %"stay"
done:
  ret i32 0
stay:
  %".23" = mul i64 %".20", 3
  %".24" = getelementptr i64, ptr @".initial.77", i64 %".20"
  %".25" = load i64, ptr %".24"
  %".26" = icmp sge i64 %".25", 0
  %".27" = zext i1 %".26" to i64
  %".28" = add i64 %".23", 2
  %".29" = getelementptr i64, ptr %".16", i64 %".28"
  store i64 %".27", ptr %".29"
  br i1 %".26", label %"stay.if", label %"stay.endif"
stay.if:
  %".32" = getelementptr i8, ptr %".4", i64 %".25"
  %".33" = getelementptr ptr, ptr %".16", i64 %".23"
  %".34" = load ptr, ptr %".33"
  %".35" = getelementptr i64, ptr @".bytes.78", i64 %".20"
  %".36" = load i64, ptr %".35"
  %".37" = call ptr @"memcpy"(ptr %".34", ptr %".32", i64 %".36")
  br label %"stay.endif"
stay.endif:
  %".39" = add i64 %".20", 1
  store i64 %".39", ptr %".17"
  br label %"loop"
}

@".initial.77" = private unnamed_addr constant [1 x i64] zeroinitializer
@".bytes.78" = private unnamed_addr constant [1 x i64] zeroinitializer
declare ptr @"memcpy"(ptr %".1", ptr %".2", i64 %".3")

define void @"flowc_instance_destroy"(ptr %"instance") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".4" = icmp ne ptr %"instance", null
  br i1 %".4", label %"body.if", label %"body.endif"
body.if:
  %".6" = getelementptr i64, ptr %"instance", i64 8
  %".7" = getelementptr i64, ptr %".6", i64 0
  %".8" = call i32 @"pthread_mutex_destroy"(ptr %"instance")
  call void @"free"(ptr %"instance")
  br label %"body.endif"
body.endif:
  ret void
}

declare i32 @"pthread_mutex_destroy"(ptr %".1")

define i32 @"flowc_instance_create"(ptr %"instance") noinline nounwind optsize
{
entry:
  %".14" = alloca [8 x i8], align 8
  %".29" = alloca i64
  br label %"body"
body:
  %".4" = icmp eq ptr %"instance", null
  br i1 %".4", label %"body.if", label %"body.endif"
body.if:
  %".6" = call ptr @"flowc_abi_message"()
  %".7" = icmp ne ptr %".6", null
  br i1 %".7", label %"body.if.if", label %"body.if.endif"
body.endif:
  %".12" = getelementptr ptr, ptr %"instance", i64 0
  store ptr null, ptr %".12"
  %".15" = call i32 @"posix_memalign"(ptr %".14", i64 64, i64 64)
  %".16" = icmp ne i32 %".15", 0
  br i1 %".16", label %"body.endif.if", label %"body.endif.endif"
body.if.if:
  %".9" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".6", i64 1024, ptr @".text.79")
  br label %"body.if.endif"
body.if.endif:
  ret i32 2
body.endif.if:
  %".18" = call ptr @"flowc_abi_message"()
  %".19" = icmp ne ptr %".18", null
  br i1 %".19", label %"body.endif.if.if", label %"body.endif.if.endif"
body.endif.endif:
  %".24" = getelementptr ptr, ptr %".14", i64 0
  %".25" = load ptr, ptr %".24"
  %".26" = call ptr @"memset"(ptr %".25", i32 0, i64 64)
  %".27" = call i32 @"pthread_mutex_init"(ptr %".25", ptr null)
  %".28" = getelementptr i64, ptr %".25", i64 8
  store i64 0, ptr %".29"
  br label %"loop"
body.endif.if.if:
  %".21" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".18", i64 1024, ptr @".text.80", i64 64)
  br label %"body.endif.if.endif"
body.endif.if.endif:
  ret i32 5
loop:
  %".32" = load i64, ptr %".29"
  %".33" = icmp sge i64 %".32", 0
  br i1 %".33", label %"done", label %"stay"
done:
  %".55" = call i32 @"flowc_abi_reset"(ptr %".25")
  %".56" = icmp ne i32 %".55", 0
  br i1 %".56", label %"done.if", label %"done.endif"
stay:
  %".35" = mul i64 %".32", 3
  %".36" = mul i64 %".32", 2
  %".37" = add i64 %".36", 0
  %".38" = getelementptr i64, ptr @".starts.81", i64 %".37"
  %".39" = load i64, ptr %".38"
  %".40" = getelementptr i8, ptr %".25", i64 %".39"
  %".41" = add i64 %".35", 0
  %".42" = getelementptr ptr, ptr %".28", i64 %".41"
  store ptr %".40", ptr %".42"
  %".44" = mul i64 %".32", 2
  %".45" = add i64 %".44", 1
  %".46" = getelementptr i64, ptr @".starts.81", i64 %".45"
  %".47" = load i64, ptr %".46"
  %".48" = getelementptr i8, ptr %".25", i64 %".47"
  %".49" = add i64 %".35", 1
  %".50" = getelementptr ptr, ptr %".28", i64 %".49"
  store ptr %".48", ptr %".50"
  %".52" = add i64 %".32", 1
  store i64 %".52", ptr %".29"
  br label %"loop"
done.if:
  call void @"flowc_instance_destroy"(ptr %".25")
  ret i32 %".55"
done.endif:
  %".60" = getelementptr ptr, ptr %"instance", i64 0
  store ptr %".25", ptr %".60"
  ret i32 0
}

@".text.79" = private unnamed_addr constant [17 x i8] c"instance is NULL\00"
declare i32 @"posix_memalign"(ptr %".1", i64 %".2", i64 %".3")

@".text.80" = private unnamed_addr constant [55 x i8] c"no memory for an instance: %lld bytes could not be had\00"
declare ptr @"memset"(ptr %".1", i32 %".2", i64 %".3")

declare i32 @"pthread_mutex_init"(ptr %".1", ptr %".2")

@".starts.81" = private unnamed_addr constant [1 x i64] zeroinitializer
define internal i32 @"flowc_abi_read"(ptr %"instance", i32 %"variable", ptr %"value") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".6" = icmp ult i32 %"variable", 0
  %".7" = xor i1 %".6", -1
  br i1 %".7", label %"body.if", label %"body.endif"
body.if:
  %".9" = call ptr @"flowc_abi_message"()
  %".10" = icmp ne ptr %".9", null
  br i1 %".10", label %"body.if.if", label %"body.if.endif"
body.endif:
  %".15" = sext i32 %"variable" to i64
  %".16" = getelementptr i64, ptr @".bytes.78", i64 %".15"
  %".17" = load i64, ptr %".16"
  %".18" = icmp eq ptr %"value", null
  %".19" = icmp ne i64 %".17", 0
  %".20" = and i1 %".18", %".19"
  br i1 %".20", label %"body.endif.if", label %"body.endif.endif"
body.if.if:
  %".12" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".9", i64 1024, ptr @".text.35", i32 %"variable")
  br label %"body.if.endif"
body.if.endif:
  ret i32 2
body.endif.if:
  %".22" = call ptr @"flowc_abi_message"()
  %".23" = icmp ne ptr %".22", null
  br i1 %".23", label %"body.endif.if.if", label %"body.endif.if.endif"
body.endif.endif:
  %".28" = getelementptr i64, ptr %"instance", i64 8
  %".29" = mul i64 %".15", 3
  %".30" = getelementptr ptr, ptr %".28", i64 %".29"
  %".31" = load ptr, ptr %".30"
  %".32" = add i64 %".29", 2
  %".33" = getelementptr i64, ptr %".28", i64 %".32"
  %".34" = load i64, ptr %".33"
  %".35" = icmp eq i64 %".34", 0
  br i1 %".35", label %"body.endif.endif.if", label %"body.endif.endif.endif"
body.endif.if.if:
  %".25" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".22", i64 1024, ptr @".text.82")
  br label %"body.endif.if.endif"
body.endif.if.endif:
  ret i32 2
body.endif.endif.if:
  %".37" = call ptr @"flowc_variable_name"(i32 %"variable")
  %".38" = call ptr @"flowc_abi_message"()
  %".39" = icmp ne ptr %".38", null
  br i1 %".39", label %"body.endif.endif.if.if", label %"body.endif.endif.if.endif"
body.endif.endif.endif:
  %".44" = call ptr @"memcpy"(ptr %"value", ptr %".31", i64 %".17")
  ret i32 0
body.endif.endif.if.if:
  %".41" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".38", i64 1024, ptr @".text.83", ptr %".37")
  br label %"body.endif.endif.if.endif"
body.endif.endif.if.endif:
  ret i32 2
}

@".text.82" = private unnamed_addr constant [14 x i8] c"value is NULL\00"
@".text.83" = private unnamed_addr constant [31 x i8] c"variable '%s' has no value yet\00"
define internal i32 @"flowc_abi_write"(ptr %"instance", i32 %"variable", ptr %"value") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".6" = icmp ult i32 %"variable", 0
  %".7" = xor i1 %".6", -1
  br i1 %".7", label %"body.if", label %"body.endif"
body.if:
  %".9" = call ptr @"flowc_abi_message"()
  %".10" = icmp ne ptr %".9", null
  br i1 %".10", label %"body.if.if", label %"body.if.endif"
body.endif:
  %".15" = sext i32 %"variable" to i64
  %".16" = getelementptr i64, ptr @".bytes.78", i64 %".15"
  %".17" = load i64, ptr %".16"
  %".18" = icmp eq ptr %"value", null
  %".19" = icmp ne i64 %".17", 0
  %".20" = and i1 %".18", %".19"
  br i1 %".20", label %"body.endif.if", label %"body.endif.endif"
body.if.if:
  %".12" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".9", i64 1024, ptr @".text.35", i32 %"variable")
  br label %"body.if.endif"
body.if.endif:
  ret i32 2
body.endif.if:
  %".22" = call ptr @"flowc_abi_message"()
  %".23" = icmp ne ptr %".22", null
  br i1 %".23", label %"body.endif.if.if", label %"body.endif.if.endif"
body.endif.endif:
  %".28" = getelementptr i64, ptr %"instance", i64 8
  %".29" = mul i64 %".15", 3
  %".30" = getelementptr ptr, ptr %".28", i64 %".29"
  %".31" = load ptr, ptr %".30"
  %".32" = add i64 %".29", 2
  %".33" = call ptr @"memcpy"(ptr %".31", ptr %"value", i64 %".17")
  %".34" = getelementptr i64, ptr %".28", i64 %".32"
  store i64 1, ptr %".34"
  ret i32 0
body.endif.if.if:
  %".25" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".22", i64 1024, ptr @".text.82")
  br label %"body.endif.if.endif"
body.endif.if.endif:
  ret i32 2
}

define i32 @"flowc_instance_reset"(ptr %"instance") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".4" = icmp eq ptr %"instance", null
  br i1 %".4", label %"body.if", label %"body.endif"
body.if:
  %".6" = call ptr @"flowc_abi_message"()
  %".7" = icmp ne ptr %".6", null
  br i1 %".7", label %"body.if.if", label %"body.if.endif"
body.endif:
  %".12" = call i32 @"pthread_mutex_lock"(ptr %"instance")
  %".13" = call i32 @"flowc_abi_reset"(ptr %"instance")
  %".14" = call i32 @"pthread_mutex_unlock"(ptr %"instance")
  ret i32 %".13"
body.if.if:
  %".9" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".6", i64 1024, ptr @".text.79")
  br label %"body.if.endif"
body.if.endif:
  ret i32 2
}

declare i32 @"pthread_mutex_lock"(ptr %".1")

declare i32 @"pthread_mutex_unlock"(ptr %".1")

define i32 @"flowc_instance_run"(ptr %"instance", ptr %"inputs", ptr %"input_dims", ptr %"outputs", ptr %"output_dims") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".8" = icmp eq ptr %"instance", null
  br i1 %".8", label %"body.if", label %"body.endif"
body.if:
  %".10" = call ptr @"flowc_abi_message"()
  %".11" = icmp ne ptr %".10", null
  br i1 %".11", label %"body.if.if", label %"body.if.endif"
body.endif:
  %".16" = call i32 @"pthread_mutex_lock"(ptr %"instance")
  %".17" = call i32 @"flowc_abi_run"(ptr %"instance", ptr %"inputs", ptr %"input_dims", ptr %"outputs", ptr %"output_dims")
  %".18" = call i32 @"pthread_mutex_unlock"(ptr %"instance")
  ret i32 %".17"
body.if.if:
  %".13" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".10", i64 1024, ptr @".text.79")
  br label %"body.if.endif"
body.if.endif:
  ret i32 2
}

define i32 @"flowc_run"(ptr %"inputs", ptr %"input_dims", ptr %"outputs", ptr %"output_dims") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".7" = call i32 @"flowc_abi_run"(ptr null, ptr %"inputs", ptr %"input_dims", ptr %"outputs", ptr %"output_dims")
  ret i32 %".7"
}

define i32 @"flowc_instance_read"(ptr %"instance", i32 %"variable", ptr %"value") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".6" = icmp eq ptr %"instance", null
  br i1 %".6", label %"body.if", label %"body.endif"
body.if:
  %".8" = call ptr @"flowc_abi_message"()
  %".9" = icmp ne ptr %".8", null
  br i1 %".9", label %"body.if.if", label %"body.if.endif"
body.endif:
  %".14" = call i32 @"pthread_mutex_lock"(ptr %"instance")
  %".15" = call i32 @"flowc_abi_read"(ptr %"instance", i32 %"variable", ptr %"value")
  %".16" = call i32 @"pthread_mutex_unlock"(ptr %"instance")
  ret i32 %".15"
body.if.if:
  %".11" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".8", i64 1024, ptr @".text.79")
  br label %"body.if.endif"
body.if.endif:
  ret i32 2
}

define i32 @"flowc_instance_write"(ptr %"instance", i32 %"variable", ptr %"value") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".6" = icmp eq ptr %"instance", null
  br i1 %".6", label %"body.if", label %"body.endif"
body.if:
  %".8" = call ptr @"flowc_abi_message"()
  %".9" = icmp ne ptr %".8", null
  br i1 %".9", label %"body.if.if", label %"body.if.endif"
body.endif:
  %".14" = call i32 @"pthread_mutex_lock"(ptr %"instance")
  %".15" = call i32 @"flowc_abi_write"(ptr %"instance", i32 %"variable", ptr %"value")
  %".16" = call i32 @"pthread_mutex_unlock"(ptr %"instance")
  ret i32 %".15"
body.if.if:
  %".11" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".8", i64 1024, ptr @".text.79")
  br label %"body.if.endif"
body.if.endif:
  ret i32 2
}

define i32 @"flowc_instance_save"(ptr %"instance", i32 %"object", ptr %"bytes", i64 %"size", ptr %"needed") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".8" = icmp eq ptr %"instance", null
  br i1 %".8", label %"body.if", label %"body.endif"
body.if:
  %".10" = call ptr @"flowc_abi_message"()
  %".11" = icmp ne ptr %".10", null
  br i1 %".11", label %"body.if.if", label %"body.if.endif"
body.endif:
  %".16" = call i32 @"pthread_mutex_lock"(ptr %"instance")
  %".17" = call i32 @"flowc_abi_save"(ptr %"instance", i32 %"object", ptr %"bytes", i64 %"size", ptr %"needed")
  %".18" = call i32 @"pthread_mutex_unlock"(ptr %"instance")
  ret i32 %".17"
body.if.if:
  %".13" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".10", i64 1024, ptr @".text.79")
  br label %"body.if.endif"
body.if.endif:
  ret i32 2
}

define i32 @"flowc_instance_restore"(ptr %"instance", i32 %"object", ptr %"bytes", i64 %"size") noinline nounwind optsize
{
entry:
  br label %"body"
body:
  %".7" = icmp eq ptr %"instance", null
  br i1 %".7", label %"body.if", label %"body.endif"
body.if:
  %".9" = call ptr @"flowc_abi_message"()
  %".10" = icmp ne ptr %".9", null
  br i1 %".10", label %"body.if.if", label %"body.if.endif"
body.endif:
  %".15" = call i32 @"pthread_mutex_lock"(ptr %"instance")
  %".16" = call i32 @"flowc_abi_restore"(ptr %"instance", i32 %"object", ptr %"bytes", i64 %"size")
  %".17" = call i32 @"pthread_mutex_unlock"(ptr %"instance")
  ret i32 %".16"
body.if.if:
  %".12" = call i32 (ptr, i64, ptr, ...) @"snprintf"(ptr %".9", i64 1024, ptr @".text.79")
  br label %"body.if.endif"
body.if.endif:
  ret i32 2
}

@"flowc.init_array" = internal constant [2 x ptr] [ptr @"flowc_abi_open_messages", ptr @"flowc_weights_open"], section ".init_array", align 8
@"llvm.used" = appending global [2 x ptr] [ptr @"flowc.init_array", ptr @"flowc.fini_array"], section "llvm.metadata"
@"flowc.fini_array" = internal constant [2 x ptr] [ptr @"flowc_abi_close_messages", ptr @"flowc_weights_close"], section ".fini_array", align 8